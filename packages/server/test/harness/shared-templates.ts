/** Environment variable with the folder of files that the first test file makes and the other ones copy. Not set for a file that runs alone. */
export const SHARED_TEMPLATES = "HOLT_TEST_TEMPLATES";
