//! What the API says of itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::TestApp;

/// After a wanted change: `INSTA_UPDATE=always make test`, and look at the difference before it is committed.
#[tokio::test]
async fn the_openapi_document_is_as_committed() {
    let document = TestApp::start().await.anyone().get("/openapi.json").await.expect(200);
    insta::assert_json_snapshot!("openapi", document);
}

#[tokio::test]
async fn every_reference_in_the_openapi_document_leads_somewhere() {
    let document = TestApp::start().await.anyone().get("/openapi.json").await.expect(200);
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        let path = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(path).is_some(), "{reference} leads nowhere");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| collect(value, references));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}

/// What is cited is explained in docs/contract.md, and what is explained there is cited.
#[test]
fn every_cited_behaviour_is_explained_and_the_other_way_round() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "tests", "eval", "benches"] {
        find_sources(&root.join(folder), &mut files);
    }
    let cited: BTreeSet<String> =
        files.iter().flat_map(|file| cited(&fs::read_to_string(file).unwrap())).collect();
    let contract = fs::read_to_string(root.join("docs/contract.md")).unwrap();
    let rows = contract.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let explained: BTreeSet<String> = rows.flat_map(cited_in_text).collect();
    assert!(explained.len() > 50, "the contract was not read");
    let unexplained: Vec<_> = cited.difference(&explained).collect();
    assert!(unexplained.is_empty(), "give these a line in docs/contract.md: {unexplained:?}");
    let uncited: Vec<_> = explained.difference(&cited).collect();
    assert!(uncited.is_empty(), "nothing cites these lines of docs/contract.md: {uncited:?}");
}

fn find_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_sources(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

fn cited(text: &str) -> Vec<String> {
    let functions = text.lines().filter_map(|line| line.trim_start().split_once("fn ")?.1.split('(').next());
    cited_in_text(text).into_iter().chain(functions.flat_map(cited_in_name)).collect()
}

/// The ids that stand in a text as they are written: `R-11`, `XC-18`, `C063`.
fn cited_in_text(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| is_id(word)).map(str::to_owned).collect()
}

/// The ids at the end or the beginning of a test's name: `_r11`, `_xc18`, `c063_`.
fn cited_in_name(name: &str) -> Vec<String> {
    let word = |word: &str| {
        let at = word.find(|c: char| c.is_ascii_digit())?;
        let (kind, number) = (word[..at].to_uppercase(), &word[at..]);
        // Else it may be `f32`.
        let is_kind = matches!(kind.as_str(), "R" | "PC" | "XA" | "XC" | "XD");
        let id = if is_kind { format!("{kind}-{number}") } else { word.to_uppercase() };
        is_id(&id).then_some(id)
    };
    name.split('_').filter_map(word).collect()
}

fn is_id(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((kind, number)) = word.split_once('-') else {
        return word.len() == 4 && word.starts_with('C') && is_number(&word[1..]);
    };
    match kind {
        "R" => number.len() >= 2 && is_number(number.trim_end_matches(['a', 'b'])),
        "XA" => is_number(number.trim_start_matches(['C', 'E'])),
        "C" | "D" => number.len() == 3 && is_number(number),
        "F" | "PC" | "XC" | "XD" => is_number(number),
        _ => false,
    }
}
