//! Pure: what an answer of the OpenAI API holds, trusted in nothing.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::Embedding;

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    data: Vec<Item<'a>>,
}

#[derive(Deserialize)]
struct Item<'a> {
    index: usize,
    #[serde(borrow)]
    embedding: &'a RawValue,
}

/// One embedding for each text, in the order asked; absent where the vector has no direction or a number that is
/// none. Anything else that is wrong is a fault of the whole answer, told for the log.
pub fn read(body: &str, texts: usize, dimensions: usize) -> Result<Vec<Option<Embedding>>, String> {
    let mended;
    let answer: Answer = if let Ok(answer) = serde_json::from_str(body) {
        answer
    } else {
        mended = without_bad_numbers(body);
        serde_json::from_str(&mended).map_err(|error| format!("its answer is not understood: {error}"))?
    };
    if answer.data.len() != texts {
        return Err(format!("it gave {} vectors for {texts} texts", answer.data.len()));
    }
    let mut embeddings = vec![None; texts];
    let mut seen = vec![false; texts];
    for item in answer.data {
        match seen.get_mut(item.index) {
            Some(seen) if !*seen => *seen = true,
            _ => {
                return Err(format!(
                    "it gave no or several vectors for a text, or one for text {}",
                    item.index
                ));
            }
        }
        let values = numbers(item.embedding.get()).ok_or("a vector is not a list")?;
        if values.len() != dimensions {
            return Err(format!("a vector has {} numbers instead of {dimensions}", values.len()));
        }
        embeddings[item.index] = Embedding::new(values);
    }
    Ok(embeddings)
}

/// Some servers write numbers that JSON does not have. One of them must not cost the other texts their vectors. No
/// string of the answer is used, so that replacing within strings does no harm.
fn without_bad_numbers(body: &str) -> String {
    ["-Infinity", "Infinity", "NaN"].iter().fold(body.to_owned(), |body, bad| body.replace(bad, "null"))
}

/// The elements of a JSON list; what is no number becomes NaN.
fn numbers(list: &str) -> Option<Vec<f32>> {
    let elements = list.strip_prefix('[')?.strip_suffix(']')?.trim();
    if elements.is_empty() {
        return Some(Vec::new());
    }
    Some(elements.split(',').map(|number| number.trim().parse().unwrap_or(f32::NAN)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(items: &[(usize, &str)]) -> String {
        let items: Vec<String> = items
            .iter()
            .map(|(index, vector)| {
                format!(r#"{{"object":"embedding","index":{index},"embedding":{vector}}}"#)
            })
            .collect();
        format!(r#"{{"object":"list","model":"m","data":[{}]}}"#, items.join(","))
    }

    fn unit(values: &[f32]) -> Option<Embedding> {
        Embedding::new(values.to_vec())
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let body = answer(&[(1, "[0, 2.5e0]"), (0, "[ -3, 0 ]")]);
        assert_eq!(read(&body, 2, 2), Ok(vec![unit(&[-1.0, 0.0]), unit(&[0.0, 1.0])]));
    }

    #[test]
    fn a_bad_vector_costs_only_its_own_text() {
        for bad in ["NaN", "Infinity", "-Infinity", "null", "1e999", "70000", "\"x\"", "true"] {
            let body = answer(&[(0, "[1,0]"), (1, &format!("[1,{bad}]")), (2, "[0,1]")]);
            assert_eq!(read(&body, 3, 2), Ok(vec![unit(&[1.0, 0.0]), None, unit(&[0.0, 1.0])]), "{bad}");
        }
        assert_eq!(read(&answer(&[(0, "[0,0.0]")]), 1, 2), Ok(vec![None]));
    }

    #[test]
    fn a_wrong_number_or_size_of_vectors_is_a_fault_of_the_answer() {
        let faults = [
            answer(&[(0, "[1,0]")]),
            answer(&[(0, "[1,0]"), (1, "[1,0]"), (2, "[1,0]")]),
            answer(&[(0, "[1,0]"), (0, "[1,0]")]),
            answer(&[(0, "[1,0]"), (2, "[1,0]")]),
            answer(&[(0, "[1,0]"), (1, "[1,0,0]")]),
            answer(&[(0, "[1,0]"), (1, "[]")]),
            answer(&[(0, "[1,0]"), (1, "\"AACAPwAAAAA=\"")]),
            answer(&[]),
            r#"{"error":{"message":"no"}}"#.to_owned(),
            "<html>".to_owned(),
            String::new(),
        ];
        for body in faults {
            assert!(read(&body, 2, 2).is_err(), "{body}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_causes_a_panic(body in "[\\[\\]{}\":,a-z0-9NaIfinity. -]{0,60}", list in ".{0,20}") {
            let _ = read(&body, 1, 1);
            let _ = read(&answer(&[(0, &list)]), 1, 1);
        }
    }
}
