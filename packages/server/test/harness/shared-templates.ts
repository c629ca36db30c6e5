/**
 * Environment variable with the folder of files that the first test file makes and the other ones copy. Not set for a file that
 * runs alone. A module of its own, so that the process that starts the test files does not load the server.
 */
export const SHARED_TEMPLATES = "HOLT_TEST_TEMPLATES";
