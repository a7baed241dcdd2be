use super::*;
use crate::procfs::testing::{Machine, Made};

const A: &str = "3fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9c1d2e4b53fa9";

fn fits(machine: &Machine, pid: u32, selector: &str) -> bool {
    let selector: Selector = selector.parse().unwrap();
    selector.fits(&Facts::of(machine.root(), pid), &mut Names::new(machine.root()))
}

#[test]
fn a_selector_is_written_as_it_is_read() {
    for text in [
        "pid:4242",
        "name:a:b",
        "exe:/opt/**/server",
        "cgroup:/web.slice",
        "container:web",
        "unit:nginx.service",
        "uid:root",
    ] {
        assert_eq!(text.parse::<Selector>().unwrap().to_string(), text);
    }
    assert_eq!("unit:nginx".parse::<Selector>().unwrap().to_string(), "unit:nginx.service");
    #[derive(Deserialize)]
    struct Section {
        follow: Vec<Selector>,
    }
    let section: Section = toml::from_str(r#"follow = ["pid:7", "name:x"]"#).unwrap();
    assert_eq!(section.follow, [Selector::Pid(7), Selector::Name("x".to_owned())]);
}

#[test]
fn what_is_wrong_with_a_selector_is_said() {
    for (text, why) in [
        ("postgres", "name:postgres"),
        ("pid:x", "`x` is no process id"),
        ("pid:0", "from 1 up"),
        ("name:", "nothing is named"),
        ("host:a", "`container`"),
        ("exe:[", "no pattern"),
        ("uid:no-such-user", "no-such-user"),
    ] {
        let error = text.parse::<Selector>().unwrap_err().to_string();
        assert!(error.contains(why) && error.contains(text), "{error}");
    }
}

#[test]
fn a_name_that_fits_is_compared_with_comm_alone() {
    let machine = Machine::new();
    machine.process(Made { pid: 7, comm: "postgres", exe: "/usr/bin/pg", argv: &["other"], ..Made::default() });
    assert!(fits(&machine, 7, "name:postgres"));
    assert!(!fits(&machine, 7, "name:pg") && !fits(&machine, 7, "name:other") && !fits(&machine, 7, "name:postgre"));
}

#[test]
fn a_name_that_the_kernel_cut_is_found_by_program_argument_or_script() {
    let machine = Machine::new();
    let cut = Made { comm: "openshell-sandb", ..Made::default() };
    machine.process(Made { pid: 1, exe: "/bin/openshell-sandbox", ..cut });
    machine.process(Made { pid: 2, exe: "/bin/busybox", argv: &["./openshell-sandbox"], ..cut });
    machine.process(Made { pid: 3, exe: "/bin/sh", argv: &["/bin/sh", "-e", "/x/openshell-sandbox"], ..cut });
    machine.process(Made { pid: 4, exe: "/bin/openshell-sandbar", argv: &["openshell-sandbar"], ..cut });
    machine.process(Made {
        pid: 5,
        comm: "vi",
        exe: "/bin/vi",
        argv: &["vi", "/x/openshell-sandbox"],
        ..Made::default()
    });
    let found: Vec<u32> = (1..=5).filter(|pid| fits(&machine, *pid, "name:openshell-sandbox")).collect();
    assert_eq!(found, [1, 2, 3]);
    // What the kernel kept of it is a name too.
    assert!(fits(&machine, 4, "name:openshell-sandb"));
}

#[test]
fn patterns_are_for_the_whole_path_or_for_the_base_name() {
    let machine = Machine::new();
    machine.process(Made { pid: 7, exe: "/opt/app/1.2/server", ..Made::default() });
    for yes in ["exe:server", "exe:s*r", "exe:/opt/**/server", "exe:/opt/app/*/server", "exe:/opt/app/{1.1,1.2}/s?rver"]
    {
        assert!(fits(&machine, 7, yes), "{yes}");
    }
    for no in ["exe:serve", "exe:/opt/*/server", "exe:app/1.2/server", "exe:/opt/app/1.2"] {
        assert!(!fits(&machine, 7, no), "{no}");
    }
}

#[test]
fn cgroups_units_containers_and_users_are_told_apart() {
    let machine = Machine::new();
    machine.write(&format!("var/lib/docker/containers/{A}/config.v2.json"), r#"{"Name":"/web-1"}"#);
    let cgroup = format!("0::/system.slice/docker-{A}.scope\n");
    machine.process(Made { pid: 1, cgroup: &cgroup, ..Made::default() });
    let cgroup = "1:name=systemd:/system.slice/nginx.service\n4:memory:/elsewhere\n0::/\n";
    machine.process(Made { pid: 2, cgroup, uid: 33, ..Made::default() });
    let who = |selector: &str| -> Vec<u32> { (1..=2).filter(|pid| fits(&machine, *pid, selector)).collect() };
    assert_eq!(who("container:3fa9c1"), [1]);
    assert_eq!(who("container:web"), [1]);
    assert!(who("container:db").is_empty());
    assert_eq!(who("unit:nginx"), [2]);
    assert!(who("unit:elsewhere").is_empty());
    assert_eq!(who("cgroup:/system.slice"), [1, 2]);
    assert_eq!(who("cgroup:/sys/fs/cgroup/memory/elsewhere"), [2]);
    assert_eq!(who("uid:33"), [2]);
}

#[test]
fn parts_of_a_name_in_a_cluster_are_names() {
    let container =
        Container { runtime: "cri-o".to_owned(), id: Name::from(A), name: Some(Name::from("prod/web-1/nginx")) };
    for start in ["prod/web", "web-1", "ngi", "3fa9"] {
        assert!(is_called(&container, start.as_bytes()), "{start}");
    }
    assert!(!is_called(&container, b"eb-1"));
}

#[test]
fn the_kernel_is_told_what_it_can_decide() {
    let machine = Machine::new();
    let kernel = |text: &str| text.parse::<Selector>().unwrap().kernel(machine.root());
    assert_eq!(kernel("pid:7"), Kernel::Nothing);
    assert_eq!(kernel("name:sh"), Kernel::Comm(*b"sh\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    assert_eq!(kernel("name:openshell-sandb"), Kernel::Comm(*b"openshell-sandb\0"));
    assert_eq!(kernel("uid:33"), Kernel::Uid(33));
    for unsure in ["name:openshell-sandbox", "exe:*", "container:x", "unit:x", "cgroup:/not/made/yet"] {
        assert_eq!(kernel(unsure), Kernel::Unsure, "{unsure}");
    }
    machine.write("sys/fs/cgroup/cgroup.controllers", "");
    machine.write("sys/fs/cgroup/cgroup.procs", "");
    machine.write("sys/fs/cgroup/web.slice/cgroup.procs", "");
    assert!(matches!(kernel("cgroup:/web.slice"), Kernel::Cgroup(_)));
}
