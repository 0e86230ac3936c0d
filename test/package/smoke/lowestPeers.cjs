// Prints the lowest version of each peer that the installed package accepts: "zod@4.2.0".
const { peerDependencies } = require("agent-persistence/package.json");
const { minVersion } = require("semver");

console.log(
  Object.entries(peerDependencies)
    .map(([name, range]) => `${name}@${minVersion(range).version}`)
    .join(" "),
);
