// Stands for node:http in bundles. An import of node:http reads each of its exports, and three of them make Node load its built-in copy of
// undici, a client of HTTP and WebSockets, which takes a tenth of the CPU time of a start. A call of require reads nothing.
module.exports = require("node:http");
