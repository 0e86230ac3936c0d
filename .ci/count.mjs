import { readFileSync } from "node:fs";

// A file that could not even be loaded has no tests to count: it counts as one that failed.
const result = JSON.parse(readFileSync(process.argv[2], "utf8"));
const unloaded = result.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
console.log(`${result.numPassedTests} passed, ${result.numFailedTests + unloaded.length} failed`);
