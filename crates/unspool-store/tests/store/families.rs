//! The index of families: what is taken back was never said, and others see what was saved.

use unspool_model::Id;
use unspool_store::{Families, LooseIssue, StreamPart};

#[test]
fn what_is_taken_back_leaves_no_trace_in_memory() {
    let place = tempfile::tempdir().unwrap();
    let mut families = Families::open(&place.path().join("families.db")).unwrap();
    let one = families.place(&[(1, true)]).unwrap().family;
    let other = families.place(&[(2, true)]).unwrap().family;
    families.save(7).unwrap();
    let joined = families.place(&[(1, true), (2, true)]).unwrap();
    assert_eq!((joined.family, joined.absorbed), (one, vec![other]));
    families.take_back().unwrap();
    assert_eq!((families.settle(one), families.settle(other)), (one, other));
    assert_eq!(families.through(), 7);
    let again = families.place(&[(1, true), (2, true)]).unwrap();
    assert_eq!((again.family, again.absorbed), (one, vec![other]), "it is joined anew");
}

#[test]
fn what_is_saved_is_seen_by_others_and_what_is_cleared_by_oneself() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("families.db");
    let (mut writer, mut reader) = (Families::open(&path).unwrap(), Families::open(&path).unwrap());
    let one = writer.place(&[(1, true)]).unwrap().family;
    let other = writer.place(&[(2, true)]).unwrap().family;
    writer.place(&[(1, true), (2, true)]).unwrap();
    writer.save(9).unwrap();
    reader.follow().unwrap();
    assert_eq!(reader.settle(other), one);
    assert_eq!((writer.through(), reader.through()), (9, 9));
    writer.clear().unwrap();
    assert_eq!((writer.through(), writer.settle(other)), (0, other));
}

#[test]
fn what_is_odd_outside_of_sessions_is_replaced_and_goes_with_its_family() {
    let place = tempfile::tempdir().unwrap();
    let mut families = Families::open(&place.path().join("families.db")).unwrap();
    let odd = |detail: &str| LooseIssue {
        source: "upload".into(),
        code: "not_json".into(),
        detail: detail.into(),
        stream: "upload/3/odd.jsonl".into(),
        count: 2,
        records: vec![Id::of(&[b"a"]), Id::of(&[b"b"])],
    };
    let [one, other] = [1, 2].map(|hash| families.place(&[(hash, true)]).unwrap().family);
    families.set_loose(one, &[odd("x"), odd("y")]).unwrap();
    families.set_loose(one, &[odd("z")]).unwrap();
    families.set_loose(other, &[odd("w")]).unwrap();
    assert_eq!(families.loose().unwrap(), [(one, odd("z")), (other, odd("w"))]);
    families.place(&[(1, true), (2, true)]).unwrap();
    assert_eq!(families.loose().unwrap(), [(one, odd("z"))], "what was joined is derived again");
    families.forget(&[one]).unwrap();
    assert_eq!(families.loose().unwrap(), []);
}

#[test]
fn bytes_are_known_by_who_needs_them() {
    let mut families = Families::in_memory().unwrap();
    let one = families.place(&[(1, true)]).unwrap().family;
    let two = families.place(&[(2, true)]).unwrap().family;
    for (position, bytes) in [(0, 1), (1, 10), (2, 100), (3, 1000), (4, 10_000)] {
        families.set_size(position, bytes).unwrap();
    }
    // A body of one, a body of both, a file of two parts, and something that nobody needs.
    families.add_entry(one, 0).unwrap();
    families.add_entry(one, 1).unwrap();
    families.add_entry(two, 1).unwrap();
    families.add_entry(two, 2).unwrap();
    for (position, offset) in [(2, 0), (3, 100)] {
        families.add_to_stream("file/a", StreamPart { position, offset }).unwrap();
    }
    let held = families.held().unwrap();
    assert_eq!(held.alone, [(one, 1), (two, 1100)].into());
    assert_eq!((held.shared, held.all), (vec![(10, vec![one, two])], 11_111));
    assert_eq!(families.bytes_of(&[one]).unwrap(), 1);
    assert_eq!(families.bytes_of(&[one, two]).unwrap(), 1111);
    families.forget(&[one]).unwrap();
    let held = families.held().unwrap();
    assert_eq!((held.alone, held.all), ([(two, 1110)].into(), 11_110));
    families.lose(&(2..3)).unwrap();
    assert_eq!(families.held().unwrap().alone, [(two, 1010)].into());
}
