//! The program as it is deployed: started, overloaded, cut off, killed.

mod books;
mod command;
mod durability;
mod model;
mod outage;
mod overload;
mod shutdown;
mod startup;
