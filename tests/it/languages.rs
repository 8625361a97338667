//! Any language, any spelling (C005, C007, C009, C016, C018, R-04).

use serde_json::json;

use crate::support::{Client, TestApp, fact};

/// The contents that a search by words finds, best first.
async fn by_words(client: &Client, query: &str) -> Vec<String> {
    let hits = client.search(json!({ "query": query, "mode": "lexical" })).await;
    hits.iter().map(|hit| hit["record"]["content"].as_str().unwrap().to_owned()).collect()
}

async fn assert_found(client: &Client, query: &str, content: &str, place: usize) {
    for found in [client.found(query).await, by_words(client, query).await] {
        let at = found.iter().position(|found| found == content);
        assert!(at.is_some_and(|at| at < place), "{query}: {found:?}");
    }
}

#[tokio::test]
async fn spellings_of_one_word_meet_c005_c007() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let records = [
        "Lunch at caf\u{e9} Z\u{fc}rich",
        "Dinner at the bistro e\u{301}toile in Gene\u{300}ve",
        "Ｃｌｏｕｄｆｌａｒｅ のキー更新は毎月一日",
        "Send it by e-mail to O’Brien & co",
    ];
    for content in records {
        alice.remember(fact(content)).await;
    }
    for n in 0..30 {
        alice.remember(fact(&format!("Meeting number {n} was about the budget."))).await;
    }
    let rows = [
        ("cafe\u{301} Zu\u{308}rich", 0),
        ("CAFÉ ZÜRICH", 0),
        ("cafe zurich", 0),
        ("\u{e9}toile Gen\u{e8}ve", 1),
        ("cloudflare", 2),
        ("Cloudflare キー更新", 2),
        ("キー更新", 2),
        ("ｃｌｏｕｄＦＬＡＲＥ", 2),
        ("email obrien", 3),
        ("O'Brien", 3),
    ];
    for (query, place) in rows {
        assert_found(&alice, query, records[place], 3).await;
    }
}

#[tokio::test]
async fn every_script_is_searched_c009() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let rows = [
        ("回复请中文优先", "中文"),
        ("我的猫叫咪咪", "猫"),
        ("毎月一日に鍵を更新する", "更新"),
        ("แมวของฉันชื่อมิมิ", "มิมิ"),
        ("قطتي اسمها ميمي وتحب السمك", "ميمي"),
        ("Мою кошку зовут Мурка", "мурка"),
        ("내 고양이 이름은 미미야", "고양이"),
        ("Η γάτα μου λέγεται ΜΊΜΗ", "μίμη"),
        ("החתולה שלי נקראת מימי", "מימי"),
        ("मेरी बिल्ली का नाम मिमी है", "मिमी"),
    ];
    for (content, _) in rows {
        alice.remember(fact(content)).await;
    }
    for n in 0..30 {
        alice.remember(fact(&format!("English record number {n} about the weather"))).await;
    }
    for (content, query) in rows {
        assert_eq!(by_words(&alice, query).await.first().map(String::as_str), Some(content), "{query}");
        assert_found(&alice, query, content, 3).await;
    }
    // A word that is nowhere is not called a good match for everything.
    let hits = alice.search(json!({ "query": "多租户", "limit": 100 })).await;
    let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.len() < 10 || scores[0] > scores[9], "{scores:?}");
    assert!(scores.iter().all(|score| *score < 0.9), "{scores:?}");
}

#[tokio::test]
async fn names_of_signs_are_names_c018() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let records = ["C++ build flags", "C# style guide", "C compiler on ARM", ".NET 8 upgrade"];
    for content in records {
        alice.remember(fact(content)).await;
    }
    for (query, content) in ["C++", "C#", "C", ".NET"].into_iter().zip(records) {
        assert_eq!(by_words(&alice, query).await.first().map(String::as_str), Some(content), "{query}");
        assert_eq!(alice.found(query).await[0], content, "{query}");
    }
}

#[tokio::test]
async fn a_query_of_signs_is_no_error_c016() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let literal = [
        "team:foo",
        "alice::bob",
        "one'",
        r"C:\repo\src\main.py",
        "it's O'Brien & co",
        "100%",
        "a_b",
        "foo:*",
    ];
    for content in literal {
        alice.remember(fact(&format!("We wrote {content} on the wall."))).await;
    }
    for query in literal {
        let content = format!("We wrote {query} on the wall.");
        let found = alice.found(query).await;
        assert!(found.contains(&content), "{query}: {found:?}");
        let found = by_words(&alice, query).await;
        assert!(found.contains(&content), "{query}: {found:?}");
    }
    let signs = [
        "'",
        "\"",
        "a & | ! b",
        "( ",
        "<->",
        "\\",
        "'\":*",
        "?",
        "...",
        "$1",
        "%",
        "_",
        "--",
        ";",
        "\u{1f408}",
        "\u{301}",
        "{\"a\":1}",
        "\t.\n",
        "''''''",
        "(((((",
        "*",
        "a\u{0}b",
        "\u{202e}",
        "NULL",
        "';DROP TABLE memories;--",
    ];
    for query in signs {
        for mode in ["hybrid", "lexical", "semantic"] {
            let status =
                alice.post("/v1/memory/search", json!({ "query": query, "mode": mode })).await.status;
            let is_blank = query == "\u{202e}";
            assert_eq!(status.as_u16(), if is_blank { 400 } else { 200 }, "{query:?} {mode}");
        }
        assert!(alice.get("/v1/memory/items").await.status.is_success());
    }
}

#[tokio::test]
async fn lists_are_filtered_in_any_spelling_r04() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    alice.remember(fact("Lunch at  caf\u{e9} ZÜRICH\nin May")).await;
    for query in ["cafe\u{301}+zürich", "ｃａｆé", "Zu\u{308}rich+IN"] {
        let query: String = query
            .bytes()
            .map(|b| if b.is_ascii() { char::from(b).to_string() } else { format!("%{b:02X}") })
            .collect();
        assert_eq!(alice.listed(&format!("query={query}")).await.len(), 1, "{query}");
    }
}
