//! What a budget can be about.

use std::fmt;

use crate::model::report::Kind;

/// A quantity of a report.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// High-water mark of the spawner's table in a spawn window, descriptors; per exec.
    HighWater(Life),
    /// Soft limit minus that, descriptors or percent of the soft limit; per exec.
    Headroom(Life),
    /// Level that the spawner's table came to rest at in a spawn window, descriptors; per exec.
    Settled,
    /// By how much that level grows from exec to exec, descriptors per exec; per table.
    GrowthPerExec,
    /// By how much it grew from the first windows to the last, descriptors; per table.
    SettledDelta,
    /// Descriptors that could not be made; in all.
    Failures,
    /// Descriptors that an image started with; per exec.
    Inherited,
    /// Processes that outlived the one that forked them; in all.
    Orphans,
    /// Descriptors of a kind, or a group of kinds, at the crest of a spawn window; per exec.
    Kinds(KindSet),
}

/// Whose high-water mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Life {
    /// The spawner's table in the spawn window.
    Window,
    /// The child's table between fork and exec.
    BeforeExec,
    /// The image after the exec.
    Image,
    /// A whole table, from first to last sight.
    Table,
}

/// One kind or a group of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KindSet {
    name: String,
    kinds: Vec<Kind>,
}

/// Groups: what stands before `:` or `-` in the names of several kinds.
const GROUPS: [(&str, &str); 2] = [("socket", "socket:"), ("bpf", "bpf-")];

/// Names, but for those of kinds: `kinds.` and any kind or group.
const NAMES: [(&str, Measure); 14] = [
    ("high_water", Measure::HighWater(Life::Window)),
    ("headroom", Measure::Headroom(Life::Window)),
    ("settled", Measure::Settled),
    ("settled_delta", Measure::SettledDelta),
    ("growth_per_exec", Measure::GrowthPerExec),
    ("failures", Measure::Failures),
    ("inherited", Measure::Inherited),
    ("orphans", Measure::Orphans),
    ("before_exec.high_water", Measure::HighWater(Life::BeforeExec)),
    ("before_exec.headroom", Measure::Headroom(Life::BeforeExec)),
    ("image.high_water", Measure::HighWater(Life::Image)),
    ("image.headroom", Measure::Headroom(Life::Image)),
    ("table.high_water", Measure::HighWater(Life::Table)),
    ("table.headroom", Measure::Headroom(Life::Table)),
];

impl Measure {
    /// The measure of this name.
    pub fn parse(name: &str) -> Option<Measure> {
        match name.strip_prefix("kinds.") {
            Some(kind) => KindSet::parse(kind).map(Measure::Kinds),
            None => NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, measure)| measure),
        }
    }

    /// Every name, kinds last.
    pub fn names() -> Vec<String> {
        let plain = NAMES.iter().map(|(name, _)| (*name).to_owned());
        let groups = GROUPS.iter().map(|(group, _)| format!("kinds.{group}"));
        plain.chain(groups).chain(Kind::ALL.iter().map(|kind| format!("kinds.{}", kind.name()))).collect()
    }

    /// Whether there is one value per exec or table, so that quantiles make sense.
    pub fn has_distribution(&self) -> bool {
        !matches!(self, Measure::Failures | Measure::Orphans)
    }

    /// Whether it can be given in percent.
    pub fn has_percent(&self) -> bool {
        matches!(self, Measure::Headroom(_))
    }

    /// Whether there is one value per descriptor table.
    pub fn is_per_table(&self) -> bool {
        matches!(
            self,
            Measure::GrowthPerExec
                | Measure::SettledDelta
                | Measure::HighWater(Life::Table)
                | Measure::Headroom(Life::Table)
        )
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Measure::Kinds(set) = self {
            return write!(f, "kinds.{}", set.name);
        }
        let name = NAMES.iter().find(|(_, measure)| measure == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

impl KindSet {
    fn parse(name: &str) -> Option<KindSet> {
        let group = GROUPS.iter().find(|(group, _)| *group == name);
        let of = |kind: &Kind| kind.name() == name || group.is_some_and(|(_, prefix)| kind.name().starts_with(prefix));
        let kinds: Vec<Kind> = Kind::ALL.iter().copied().filter(of).collect();
        (!kinds.is_empty()).then(|| KindSet { name: name.to_owned(), kinds })
    }

    /// The kinds in it.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }
}

/// Of these names those that are nearest to a wrong one: a few typing errors away, or with it in them.
pub fn nearest(wrong: &str, names: &[String]) -> Vec<String> {
    let mut near: Vec<(usize, &String)> = names.iter().map(|name| (distance(wrong, name), name)).collect();
    near.sort();
    let most = wrong.chars().count().div_ceil(3).max(1);
    let close = near.iter().filter(|(distance, _)| *distance <= most).take(3).map(|(_, name)| (*name).clone());
    let close: Vec<String> = close.collect();
    if !close.is_empty() {
        return close;
    }
    names.iter().filter(|name| wrong.len() > 2 && name.contains(wrong)).take(3).cloned().collect()
}

/// Characters to insert, delete or replace between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            let here = (diagonal + usize::from(x != *y)).min(above + 1).min(left + 1);
            (diagonal, left) = (above, here);
            *cell = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_as_itself() {
        for name in Measure::names() {
            assert_eq!(Measure::parse(&name).unwrap().to_string(), name);
        }
        assert_eq!(Measure::parse("kinds"), None);
        assert_eq!(Measure::parse("kinds."), None);
        assert_eq!(Measure::parse("kinds.soc"), None);
    }

    #[test]
    fn a_group_has_all_its_kinds_and_a_kind_only_itself() {
        let Some(Measure::Kinds(sockets)) = Measure::parse("kinds.socket") else { panic!("no kinds") };
        assert!(sockets.kinds().contains(&Kind::SocketTcp) && sockets.kinds().len() > 5);
        let Some(Measure::Kinds(pipe)) = Measure::parse("kinds.pipe") else { panic!("no kinds") };
        assert_eq!(pipe.kinds(), [Kind::Pipe]);
    }

    #[test]
    fn a_slip_finds_the_name_that_was_meant() {
        assert_eq!(nearest("high_watr", &Measure::names())[0], "high_water");
        assert_eq!(nearest("kinds.sockets", &Measure::names())[0], "kinds.socket");
        assert_eq!(nearest("growth", &Measure::names()), ["growth_per_exec"]);
        assert!(nearest("zzzzzzzzz", &Measure::names()).is_empty());
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
