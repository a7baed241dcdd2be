//! The bill of materials, as SPDX 2.3 in JSON: the program, every crate in it, and the kernel object inside of it.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{Inputs, crates::Crate, date};
use crate::{
    build_ebpf::{OBJECT, RECORD},
    provenance, sh,
};

pub const NAME: &str = "fdtide.spdx.json";
const OBJECT_ID: &str = "SPDXRef-kernel-object";

/// The document, ended by a newline.
pub fn document(inputs: &Inputs) -> Result<String> {
    let tool = inputs.crates.tool()?;
    let program = provenance::sha256(&inputs.program.file)?;
    let fleet = provenance::sha256(&inputs.program.fleet)?;
    let mut packages: Vec<_> = inputs.crates.all.values().map(crate_package).collect();
    for package in &mut packages {
        for (name, sum) in [("fdtide", &program), ("fdtide-fleet", &fleet)] {
            if package["name"] == name {
                package["primaryPackagePurpose"] = json!("APPLICATION");
                package["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": sum }]);
                package["packageFileName"] = json!(name);
            }
        }
    }
    let described = ["fdtide", "fdtide-fleet"];
    let mut relations: Vec<_> =
        described.iter().map(|name| relation("SPDXRef-DOCUMENT", "DESCRIBES", &id(name, &tool.version))).collect();
    for one in inputs.crates.all.values() {
        let own = id(&one.name, &one.version);
        for (key, for_build) in &one.needs {
            let other = key.split_once(' ').map(|(name, version)| id(name, version)).unwrap_or_default();
            relations.push(match for_build {
                true => relation(&other, "BUILD_DEPENDENCY_OF", &own),
                false => relation(&own, "DEPENDS_ON", &other),
            });
        }
    }
    kernel_object(inputs, &mut packages, &mut relations)?;
    let creators =
        [format!("Organization: {}", tool.authors.join(", ")), format!("Tool: cargo-xtask-dist-{}", inputs.version)];
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("fdtide-{}-{}", inputs.version, inputs.program.platform()),
        // Another program is another document.
        "documentNamespace": format!("https://spdx.org/spdxdocs/fdtide-{}-{program}", inputs.version),
        "creationInfo": {
            "created": date(inputs.epoch, "+%FT%TZ")?,
            "creators": creators,
        },
        "packages": packages,
        "relationships": relations,
    });
    Ok(serde_json::to_string_pretty(&document).context("failed to write JSON")? + "\n")
}

fn crate_package(one: &Crate) -> Value {
    let mut package = json!({
        "SPDXID": id(&one.name, &one.version),
        "name": one.name,
        "versionInfo": one.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": one.licence,
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "LIBRARY",
    });
    if let Some(sum) = &one.checksum {
        package["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": sum }]);
        package["externalRefs"] = purl(&one.name, &one.version);
    }
    package
}

/// What runs in the kernel was built by another toolchain, from crates that its record names.
fn kernel_object(inputs: &Inputs, packages: &mut Vec<Value>, relations: &mut Vec<Value>) -> Result<()> {
    let root = sh::root()?;
    let record = fs::read_to_string(root.join(RECORD)).with_context(|| format!("failed to read `{RECORD}`"))?;
    let record: Value = serde_json::from_str(&record).with_context(|| format!("failed to parse `{RECORD}`"))?;
    let tool = inputs.crates.tool()?;
    packages.push(json!({
        "SPDXID": OBJECT_ID,
        "name": "fdtide-kernel-object",
        "versionInfo": inputs.version,
        "packageFileName": "fdtide.bpf.o",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "MIT OR GPL-2.0-only",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "OTHER",
        "comment": format!("built with {}", record["toolchain"]["rustc"].as_str().unwrap_or_default()),
        "checksums": [{ "algorithm": "SHA256", "checksumValue": provenance::sha256(&root.join(OBJECT))? }],
    }));
    relations.push(relation(&id(&tool.name, &tool.version), "CONTAINS", OBJECT_ID));
    for key in record["crates"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let Some((name, version)) = key.split_once(' ') else { continue };
        let own = id(name, version);
        if !packages.iter().any(|package| package["SPDXID"] == own) {
            packages.push(json!({
                "SPDXID": own,
                "name": name,
                "versionInfo": version,
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": false,
                "licenseConcluded": "NOASSERTION",
                "licenseDeclared": "NOASSERTION",
                "copyrightText": "NOASSERTION",
                "externalRefs": purl(name, version),
            }));
        }
        relations.push(relation(OBJECT_ID, "DEPENDS_ON", &own));
    }
    Ok(())
}

fn purl(name: &str, version: &str) -> Value {
    // `+` of build metadata is a separator in a URL.
    let locator = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
    json!([{ "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator }])
}

fn relation(from: &str, kind: &str, to: &str) -> Value {
    json!({ "spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to })
}

/// Letters, digits, `.` and `-` are all that an id may have.
fn id(name: &str, version: &str) -> String {
    let clean = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    format!("SPDXRef-{}-{}", clean(name), clean(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_locators_have_no_signs_that_mean_something() {
        assert_eq!(id("num_enum", "0.9.12+spec-1.1.0"), "SPDXRef-num-enum-0.9.12-spec-1.1.0");
        assert_eq!(purl("toml", "0.9.12+x")[0]["referenceLocator"], "pkg:cargo/toml@0.9.12%2Bx");
    }
}
