//! Explanations of real captures, and of captures of the simulator, whose causes are known.
mod corpus;
mod real;
mod swarm;
