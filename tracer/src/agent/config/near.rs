//! What somebody may have meant.

/// Names further apart than this have nothing to do with each other.
const ALIKE: f64 = 0.8;

/// A sentence on the known name that is nearest to the unknown one in a message like
/// ``unknown field `budget`, expected one of `budgets`, `name` ``; none if none is near.
pub(super) fn help(message: &str) -> Option<String> {
    let unknown = ["unknown field", "unknown variant"].iter().any(|head| message.starts_with(head));
    let mut names = message.split('`').skip(1).step_by(2);
    let name = names.next().filter(|_| unknown)?;
    nearest(name, names).map(|near| format!("did you mean `{near}`?"))
}

/// The nearest of these names, if it is near.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase().replace('-', "_");
    let scored = known.map(|known| (strsim::jaro_winkler(&name, known), known));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= ALIKE).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_and_a_far_one_is_not() {
        let message = |name: &str| format!("unknown field `{name}`, expected one of `max_bytes`, `keep`, `on`");
        for name in ["maxbytes", "max-bytes", "max_byte", "Max_Bytes"] {
            assert_eq!(help(&message(name)).as_deref(), Some("did you mean `max_bytes`?"), "{name}");
        }
        assert_eq!(help(&message("kepp")).as_deref(), Some("did you mean `keep`?"));
        assert_eq!(help(&message("webhook")), None);
        assert_eq!(help("invalid type: integer `3`, expected a string"), None);
        assert_eq!(help("unknown field `a`, there are no fields"), None);
    }
}
