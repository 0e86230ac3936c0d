import { isSurelyGone, processFacts } from "../../../../src/nodejs/ProcessIdentity.ts";
import { nodeProcessIdentity } from "../../../../src/nodejs/nodeProcessIdentity.ts";

const identity = nodeProcessIdentity();
const facts = processFacts(identity);
const ended = isSurelyGone({ ...facts, processId: 4_000_000, processStart: "1" }, identity);
console.log(JSON.stringify({ facts, ended, shared: identity.sinceBootMs !== undefined }));
