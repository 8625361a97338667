use proptest::prelude::*;

use super::*;

/// What may be dropped from a text that is no table and no export.
const DROPPED: &str = "-*+–—·•◦▪●○■‣⁃[]xX☐☑☒";

fn texts(text: &str) -> Vec<String> {
    split(text).into_iter().map(|piece| piece.text).collect()
}

fn solid(text: &str) -> Vec<char> {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Finds the pieces in the text one after the other, with nothing but marks between them.
fn lost(text: &str, pieces: &[Piece], marks: &str) -> Option<String> {
    let text = solid(text);
    let mut at = 0;
    for piece in pieces {
        let wanted = solid(&piece.text);
        let is_mark = |c: &char| marks.contains(*c);
        let reach = at + text[at..].iter().take_while(|c| is_mark(c)).count();
        let found = (at..=reach).find(|start| text[*start..].starts_with(&wanted));
        let Some(found) = found else {
            return Some(format!("{:?} after {}", piece.text, text[..at].iter().collect::<String>()));
        };
        at = found + wanted.len();
    }
    text[at..].iter().any(|c| !marks.contains(*c)).then(|| text[at..].iter().collect())
}

/// Lines such as people paste, of every sort.
fn pasted() -> impl Strategy<Value = String> {
    let words = "[a-zA-Zäß界 ,;.!?:'/&%$€()]{0,60}";
    let start = prop_oneof![
        Just(""),
        Just("- "),
        Just("* "),
        Just("• "),
        Just("+ "),
        Just("– "),
        Just("- [ ] "),
        Just("- [x] "),
        Just("[ ] "),
        Just("  - "),
        Just("\t* "),
        Just("# "),
        Just("### "),
        Just("> "),
        Just("Anna: "),
        Just("Ben: "),
        Just("```"),
        Just("---"),
        Just("[2024-05-01] - "),
        Just("May 1, 2024: "),
        Just("| "),
        Just("    "),
        Just("**"),
    ];
    let end = prop_oneof![Just("\n"), Just("\n\n"), Just("\r\n"), Just(":\n"), Just("**\n")];
    proptest::collection::vec((start, words, end), 0..24).prop_map(|lines| {
        lines.into_iter().flat_map(|(start, words, end)| [start.to_owned(), words, end.to_owned()]).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// XD-05: the one rule that counts.
    #[test]
    fn no_character_of_content_is_lost_or_made_up_xd05(text in pasted()) {
        let pieces = split(&text);
        prop_assert_eq!(lost(&text, &pieces, DROPPED), None, "{:?}", pieces);
    }

    #[test]
    fn nor_is_any_of_whatever_text(text in "[^|{\\[,;\\t]{0,200}") {
        let pieces = split(&text);
        let marks = format!("{DROPPED}0123456789.)");
        if crate::memory::text::is_blank(&text) {
            prop_assert!(pieces.is_empty());
        } else {
            let shown: String = text.lines().filter(|line| !is_blank(line)).collect::<Vec<_>>().join("\n");
            prop_assert_eq!(lost(&shown, &pieces, &marks), None, "{:?}", pieces);
        }
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = split(&text);
    }

    /// Each note of an export comes back to the letter, whatever stands in it.
    #[test]
    fn exports_come_back_to_the_letter(notes in proptest::collection::vec("\\PC{1,40}", 2..12)) {
        let notes: Vec<String> = notes.iter().map(|note| note.trim().to_owned()).collect();
        prop_assume!(notes.iter().all(|note| !is_blank(note)));
        let json = serde_json::to_string(&notes).expect("it is JSON");
        prop_assert_eq!(texts(&json), notes.clone());
        let objects: Vec<Value> = notes.iter().map(|note| serde_json::json!({ "id": 1, "memory": note })).collect();
        let json = serde_json::json!({ "memories": objects }).to_string();
        prop_assert_eq!(texts(&json), notes.clone());
        let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
        prop_assert_eq!(texts(&lines.join("\n")), notes.clone());
        let rows = notes.iter().map(|note| format!("2024-05-01,\"{}\"\n", note.replace('"', "\"\"")));
        prop_assert_eq!(texts(&format!("date,note\n{}", rows.collect::<String>())), notes);
    }
}

#[test]
fn a_list_is_one_piece_an_entry_and_its_marks_are_gone() {
    for list in [
        "- likes tea\n- has a dog\n- lives in Köln",
        "* likes tea\n\n* has a dog\n\n* lives in Köln",
        "• likes tea\n•has a dog\n• lives in Köln",
        "– likes tea\n– has a dog\n– lives in Köln",
        "1. likes tea\n2. has a dog\n3. lives in Köln",
        "1) likes tea\n2) has a dog\n3) lives in Köln",
        "[ ] likes tea\n[x] has a dog\n- [X] lives in Köln",
        "likes tea\nhas a dog\nlives in Köln",
        "likes tea\n\nhas a dog\n\n\nlives in Köln",
        "likes tea\r\nhas a dog\r\n---\r\nlives in Köln\r\n",
    ] {
        assert_eq!(texts(list), ["likes tea", "has a dog", "lives in Köln"], "{list}");
    }
}

#[test]
fn entries_may_be_nested_and_go_on_in_the_next_line() {
    let pieces = split("# Pets\n- Tom\n  a cat,\n  grey\n  - eats fish\n- Rex\n\nAnd more.");
    let found: Vec<(&str, Option<&str>)> =
        pieces.iter().map(|piece| (piece.text.as_str(), piece.under.as_deref())).collect();
    assert_eq!(
        found,
        [
            ("# Pets", None),
            ("Tom\na cat,\ngrey", Some("Pets")),
            ("eats fish", Some("Pets / Tom")),
            ("Rex", Some("Pets")),
            ("And more.", Some("Pets")),
        ]
    );
}

#[test]
fn a_number_is_a_mark_only_where_it_counts() {
    for (text, pieces) in [
        ("1. FC Köln won", vec!["1. FC Köln won"]),
        ("24. Dezember: Party\n25. Dezember: Rest", vec!["24. Dezember: Party", "25. Dezember: Rest"]),
        ("1. Mai frei\n2. Mai Arbeit", vec!["1. Mai frei", "2. Mai Arbeit"]),
        ("1984. A book.\n1985. Another.", vec!["1984. A book.", "1985. Another."]),
        ("3.5 is a number\n4.5 too", vec!["3.5 is a number", "4.5 too"]),
        ("1. one\n   - a\n2. two\n3. three", vec!["one", "a", "two", "three"]),
        ("-5 degrees outside", vec!["-5 degrees outside"]),
    ] {
        assert_eq!(texts(text), pieces, "{text}");
    }
}

#[test]
fn a_paragraph_that_was_broken_where_it_was_full_is_one_piece() {
    let text = "The team met on Tuesday and talked at length about\nthe budget, which is smaller than it was last year, and\nabout the new office in Berlin.";
    assert_eq!(texts(text), [text]);
    let two = "Works at ACME as an engineer since the year 2019.\nLikes tea";
    assert_eq!(texts(two).len(), 2);
    assert_eq!(texts("buy milk\ncall mum").len(), 2);
}

#[test]
fn what_other_assistants_export_is_taken_apart() {
    let claude = "**Work context**\n\n[2024-05-01] - Leads a team of five\n[2024-06-12] - Moved to Köln\n\n**Personal**\n\nHas two cats.";
    let pieces = split(claude);
    assert_eq!(texts(claude)[1..3], ["[2024-05-01] - Leads a team of five", "[2024-06-12] - Moved to Köln"]);
    assert_eq!(pieces[1].undated(), "Leads a team of five");
    assert_eq!(pieces[1].dated.map(|at| at.date_naive().to_string()).as_deref(), Some("2024-05-01"));
    assert_eq!(pieces[4].under.as_deref(), Some("Personal"));
    let gemini = "Here is what I know about you:\n\n* You like tea.\n* You have a dog.";
    assert_eq!(texts(gemini)[1..], ["You like tea.", "You have a dog."]);
    assert_eq!(split(gemini)[1].under.as_deref(), Some("Here is what I know about you"));
}

#[test]
fn a_conversation_is_one_piece_a_turn() {
    let talk = "User: What do I drink?\nAssistant: You drink tea.\nYou take it black.\nUser: Right.";
    assert_eq!(
        texts(talk),
        ["User: What do I drink?", "Assistant: You drink tea.\nYou take it black.", "User: Right."]
    );
    assert_eq!(texts("Name: Anna\nCity: Köln"), ["Name: Anna", "City: Köln"]);
}

#[test]
fn tables_are_one_piece_a_row() {
    let pieces = split(
        "Notes\n\n| Date | Note |\n|------|:----:|\n| 2024-05-01 | likes tea |\n| | has a dog |\n\nEnd",
    );
    let found: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(found, ["Notes", "likes tea", "has a dog", "End"]);
    assert_eq!(pieces[1].fields["Date"], "2024-05-01");
    assert!(pieces[1].dated.is_some() && pieces[2].dated.is_none());
    assert_eq!(texts("| Pet | Age |\n|---|---|\n| Tom | 3 |"), ["Pet | Age", "Tom | 3"]);
    let quoted = "id;memory\n1;\"likes \"\"green\"\" tea;\nblack too\"\n2;has a dog\n";
    assert_eq!(texts(quoted), ["likes \"green\" tea;\nblack too", "has a dog"]);
    // No column of text: then every line is a note, as ever.
    assert_eq!(texts("eggs, milk\nbread, salt"), ["eggs, milk", "bread, salt"]);
}

#[test]
fn json_that_is_no_export_stays_whole() {
    for text in ["{\n  \"theme\": \"dark\",\n  \"size\": 1.50\n}", "[1, 2, 3]", "{\"a\":\"x\",\"a\":\"y\"}"] {
        assert_eq!(texts(text), [text]);
    }
    let two = "```json\n{\"work\": [\"leads a team\"], \"home\": [\"has a dog\"], \"version\": 1.50}\n```";
    assert_eq!(texts(two), ["leads a team", "has a dog", "version: 1.50"]);
    assert_eq!(split(two)[1].under.as_deref(), Some("home"));
    let one = split(r#"{"content": "likes tea", "created_at": "2024-05-01T10:00:00Z", "n": 1.50}"#);
    assert_eq!((one[0].text.as_str(), &one[0].fields["n"]), ("likes tea", &Value::from("1.50")));
    assert!(one[0].dated.is_some());
}

#[test]
fn code_stays_together() {
    let text = "Deploy with:\n```sh\nmake all\n\n- not a list\n```\n- a list";
    assert_eq!(texts(text), ["Deploy with:", "```sh\nmake all\n\n- not a list\n```", "a list"]);
}

#[test]
fn tasks_say_whether_they_are_done() {
    let done: Vec<Option<bool>> = split("- [ ] a\n- [x] b\n- c").iter().map(|piece| piece.done).collect();
    assert_eq!(done, [Some(false), Some(true), None]);
}

#[test]
fn what_is_all_marks_is_kept_and_what_is_blank_is_nothing() {
    assert_eq!(texts("---"), ["---"]);
    assert_eq!(texts("-"), ["-"]);
    assert!(split(" \u{200b}\n\t").is_empty());
}

#[test]
fn a_large_text_takes_no_longer_than_it_is_long() {
    for unit in [
        "\n",
        "a\n",
        "- \n",
        "| a\n",
        "1. \n",
        "a:\n",
        "```\n",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
    ] {
        let text = unit.repeat(65_536 / unit.len());
        let start = std::time::Instant::now();
        let _ = split(&text);
        assert!(start.elapsed().as_millis() < 2_000, "{unit:?}: {:?}", start.elapsed());
    }
}
