//! What the API says of itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{TestApp, find_env};

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

#[tokio::test]
async fn the_openrpc_document_refers_to_the_same_schemas_c049() {
    let app = TestApp::start_lexical().await;
    let (rpc, rest) = (app.anyone().get("/openrpc.json").await, app.anyone().get("/openapi.json").await);
    let (rpc, rest) = (rpc.expect(200), rest.expect(200));
    let mut references = Vec::new();
    collect(&rpc, &mut references);
    for reference in references {
        assert!(rpc.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference} leads nowhere");
    }
    let methods: Vec<&str> =
        rpc["methods"].as_array().unwrap().iter().map(|method| method["name"].as_str().unwrap()).collect();
    let table: Vec<&str> = memtide::rpc::method::methods().map(|method| method.name).collect();
    assert_eq!(methods, table);
    let shared = rpc["components"]["schemas"].as_object().unwrap();
    let both =
        shared.iter().filter_map(|(name, schema)| Some((schema, rest["components"]["schemas"].get(name)?)));
    let both: Vec<_> = both.collect();
    assert!(both.len() > 25, "{}", both.len());
    for (one, other) in both {
        assert_eq!(one, other);
    }
}

/// XC-52. After a wanted change: `INSTA_UPDATE=always make test`, and look at the difference before it is committed.
#[test]
fn the_schemas_are_as_committed_xc52() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let made = memtide::rpc::document::schemas();
    for name in [
        "record",
        "scope",
        "search_params",
        "remember_params",
        "forget_params",
        "semantic_fields",
        "semantic_write_params",
        "candidate",
    ] {
        assert!(made.contains_key(&format!("memory_{name}.json")), "C-040 to C-048: {name}");
    }
    if find_env("INSTA_UPDATE").as_deref() == Some("always") {
        fs::create_dir_all(&folder).unwrap();
        for file in fs::read_dir(&folder).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        for (name, schema) in &made {
            fs::write(folder.join(name), format!("{schema:#}\n")).unwrap();
        }
    }
    let mut committed: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    committed.sort();
    assert_eq!(committed, made.keys().cloned().collect::<Vec<_>>(), "schemas/ is stale");
    for (name, schema) in &made {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *schema, "schemas/{name} is stale");
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
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let cited: BTreeSet<String> = texts.iter().flat_map(|text| cited(text)).collect();
    // Between the ends of a range in a comment there may be numbers that nothing has.
    let in_ranges: BTreeSet<String> =
        texts.iter().flat_map(|text| text.lines()).flat_map(explained).collect();
    let contract = fs::read_to_string(root.join("docs/contract.md")).unwrap();
    let rows = contract.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let explained: BTreeSet<String> = rows.flat_map(explained).collect();
    assert!(explained.len() > 50, "the contract was not read");
    // In the name of a test, C-012 of the contract and C012 of the hard inputs look alike.
    let dashed =
        |id: &str| id.strip_prefix('C').filter(|rest| !rest.starts_with('-')).map(|rest| format!("C-{rest}"));
    let is_explained =
        |id: &String| explained.contains(id) || dashed(id).is_some_and(|id| explained.contains(&id));
    let unexplained: Vec<_> = cited.iter().filter(|id| !is_explained(id)).collect();
    assert!(unexplained.is_empty(), "give these a line in docs/contract.md: {unexplained:?}");
    let in_names: BTreeSet<String> = cited.iter().filter_map(|id| dashed(id)).collect();
    let is_cited = |id: &String| cited.contains(id) || in_names.contains(id) || in_ranges.contains(id);
    let uncited: Vec<_> = explained.iter().filter(|id| !is_cited(id)).collect();
    assert!(uncited.is_empty(), "nothing cites these lines of docs/contract.md: {uncited:?}");
}

/// The ids in a line, where `R-11 to R-13` stands for all three.
fn explained(row: &str) -> Vec<String> {
    let parts: Vec<&str> = row.split(" to ").collect();
    let ranges = parts.windows(2).flat_map(|pair| {
        let first = pair[0].rsplit([' ', ',', '(']).next().unwrap_or_default();
        let last = pair[1].split([' ', ',', ')', '.', ':']).next().unwrap_or_default();
        let number = |id: &str| id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().ok();
        let (kind, width) = (first.trim_end_matches(|c: char| c.is_ascii_digit()), first.len());
        let (Some(from), Some(to)) = (number(first), number(last)) else { return Vec::new() };
        if !is_id(first) || !is_id(last) {
            return Vec::new();
        }
        (from..=to).map(|number| format!("{kind}{number:0>digits$}", digits = width - kind.len())).collect()
    });
    cited_in_text(row).into_iter().chain(ranges).collect()
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
        let is_kind = matches!(kind.as_str(), "A" | "B" | "D" | "R" | "PC" | "XA" | "XB" | "XC" | "XD");
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
        "A" | "B" | "C" | "D" => number.len() == 3 && is_number(number),
        "F" | "PC" | "XB" | "XC" | "XD" => is_number(number),
        _ => false,
    }
}
