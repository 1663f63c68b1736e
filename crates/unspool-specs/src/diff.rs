//! What differs between two texts, line by line.

/// Both texts as one, with `-` before lines only the first has and `+` before lines only the second has.
pub fn diff(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let common = common_lengths(&old, &new);
    let (mut at_old, mut at_new) = (0, 0);
    let mut out = String::new();
    let mut line = |mark: char, text: &str| {
        out.push(mark);
        out.push(' ');
        out.push_str(text);
        out.push('\n');
    };
    while at_old < old.len() || at_new < new.len() {
        if at_old < old.len() && at_new < new.len() && old[at_old] == new[at_new] {
            line(' ', old[at_old]);
            at_old += 1;
            at_new += 1;
        } else if at_new == new.len()
            || (at_old < old.len() && common[at_old + 1][at_new] >= common[at_old][at_new + 1])
        {
            line('-', old[at_old]);
            at_old += 1;
        } else {
            line('+', new[at_new]);
            at_new += 1;
        }
    }
    out
}

/// For each pair of positions, how many lines the rests have in common, in order.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<Vec<usize>> {
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn shows_what_went_and_what_came() {
        assert_eq!(diff("a\nb\nc", "a\nx\nc\nd"), "  a\n- b\n+ x\n  c\n+ d\n");
        assert_eq!(diff("a", "a"), "  a\n");
    }
}
