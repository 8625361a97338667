//! placeholder
use super::*;
pub struct Http;
impl Http {
    pub fn new(_: HttpConfig) -> Result<Self, ConnectError> {
        Ok(Self)
    }
    pub fn model(&self) -> &Model {
        unimplemented!()
    }
    pub async fn embed_query(&self, _: &str) -> Result<Option<Embedding>> {
        unimplemented!()
    }
    pub async fn embed_texts(&self, _: &[String]) -> Result<Vec<Embedded>> {
        unimplemented!()
    }
}
