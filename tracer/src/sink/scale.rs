//! The law of growth as text and JSON.

use std::io::{self, Write};

use serde::Serialize;

use crate::gate::{
    growth_budget::Kept,
    scale::{CONFIDENCE, Growth, Law, Point},
};

/// Identity of the JSON format.
const SCHEMA: &str = "fdtide.scale/1";

/// One budget and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// As it was written.
    pub budget: String,
    /// Kept, exceeded or unknown.
    pub verdict: Kept,
}

/// Everything there is to say about one variation.
#[derive(Clone, Debug, Serialize)]
pub struct Scale {
    /// Name of what was varied.
    pub variable: String,
    /// The command, with the place of the variable.
    pub command: Vec<String>,
    /// What each value came to.
    pub points: Vec<Point>,
    /// What they come to together.
    pub growth: Growth,
    /// Budgets.
    pub budgets: Vec<Judged>,
}

/// Writes it as one JSON document.
///
/// # Errors
/// Those of `out`.
pub fn json(scale: &Scale, out: &mut dyn Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        confidence: f64,
        #[serde(flatten)]
        scale: &'a Scale,
    }
    serde_json::to_writer_pretty(&mut *out, &Document { schema: SCHEMA, confidence: CONFIDENCE, scale })?;
    out.write_all(b"\n")
}

/// Writes it for people.
///
/// # Errors
/// Those of `out`.
pub fn text(scale: &Scale, out: &mut dyn Write) -> io::Result<()> {
    let (name, growth) = (&scale.variable, &scale.growth);
    let of = |soft: Option<u32>| soft.map_or_else(|| "?".to_owned(), |soft| soft.to_string());
    writeln!(out, "{:>8}  {:>10}  {:>6}  {:<16} ended", name, "high-water", "limit", "in")?;
    for point in &scale.points {
        let comm = point.comm.as_deref().unwrap_or("");
        let (high, limit, ended) = (of(point.high_water), of(point.soft_limit), &point.ended);
        write!(out, "{:>8}  {high:>10}  {limit:>6}  {comm:<16} {ended}", point.n)?;
        match &point.left_out {
            Some(why) => writeln!(out, "; not in the fit: {why}")?,
            None => writeln!(out)?,
        }
    }
    writeln!(out)?;
    for line in law(name, growth) {
        writeln!(out, "  {line}")?;
    }
    for judged in &scale.budgets {
        let word = match judged.verdict {
            Kept::Pass => "kept",
            Kept::Fail => "exceeded",
            Kept::Inconclusive => "inconclusive",
        };
        writeln!(out, "  budget `{}`: {word}", judged.budget)?;
    }
    Ok(())
}

/// Signed zero is zero.
fn rounded(value: f64) -> String {
    let text = format!("{value:.3}");
    if text == "-0.000" { "0.000".to_owned() } else { text }
}

fn law(name: &str, growth: &Growth) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(fit) = growth.fit else {
        return vec![format!("Unclear: a line needs two values of {name} at which nothing was refused.")];
    };
    let interval = match (fit.slope_low, fit.slope_high) {
        (Some(low), Some(high)) => {
            format!("{:.0} % interval {} to {}", CONFIDENCE * 100.0, rounded(low), rounded(high))
        }
        _ => "no interval with two points".to_owned(),
    };
    let word = match growth.law {
        Law::Bounded => "Bounded",
        Law::Proportional => "Proportional",
        Law::Unclear => "Unclear",
    };
    let slope = rounded(fit.slope);
    lines.push(format!(
        "{word}: {slope} descriptors per {name} ({interval}), {} at {name} = 0.",
        rounded(fit.intercept)
    ));
    if let (Some(at), Some(soft)) = (growth.limit_at, growth.soft_limit) {
        lines.push(format!("The soft limit of {soft} is passed at {name} = {at}."));
    }
    if let Some(at) = growth.refused_at {
        lines.push(format!("Descriptors were refused at {name} = {at} already."));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale() -> Scale {
        let point = |n: u64, refused| Point {
            n,
            high_water: Some(n as u32 + 8),
            comm: Some("burst".to_owned()),
            soft_limit: Some(1024),
            refused,
            ended: "exit 0".to_owned(),
            left_out: (refused > 0).then(|| "descriptors were refused".to_owned()),
        };
        let points = vec![point(100, 0), point(200, 0), point(300, 0), point(2000, 1)];
        let growth = Growth::of(&points);
        let budgets = vec![Judged { budget: "slope <= 0.01".to_owned(), verdict: Kept::Fail }];
        Scale { variable: "N".to_owned(), command: vec!["burst".to_owned(), "{N}".to_owned()], points, growth, budgets }
    }

    #[test]
    fn the_text_says_the_law_the_limit_and_the_budget() {
        let mut out = Vec::new();
        text(&scale(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Proportional: 1.000 descriptors per N (95 % interval 1.000 to 1.000), 8.000 at N = 0."));
        assert!(text.contains("The soft limit of 1024 is passed at N = 1017."), "{text}");
        assert!(text.contains("refused at N = 2000 already") && text.contains("not in the fit"), "{text}");
        assert!(text.ends_with("budget `slope <= 0.01`: exceeded\n"));
    }

    #[test]
    fn the_json_has_the_same() {
        let mut out = Vec::new();
        json(&scale(), &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["schema"], "fdtide.scale/1");
        assert_eq!((&value["growth"]["law"], &value["growth"]["limit_at"]), (&"proportional".into(), &1017.into()));
        assert_eq!(value["points"].as_array().map(Vec::len), Some(4));
    }
}
