//! Tenants.
