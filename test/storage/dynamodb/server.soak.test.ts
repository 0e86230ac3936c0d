import { recordLogConformance } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { onDynamoDBServer } from "./inDynamoDB.ts";
import { wholeSoak } from "../../soak/cases.ts";

/** What says whether the server takes each kind of request as the one in memory does: a whole soak runs the whole suite. */
const essential: ReadonlySet<string> = new Set([
  "numbers appends from 1 without gaps",
  "stores an append once if its response was lost, and ends the ownership if the append failed",
  "rejects appends of a replaced owner and aborts its signal",
  "continues positions and generations when the id of a removed agent is used again",
  "removes the bytes of pruned appends, even if an earlier prune did not run",
  "sorts by the UTF-8 bytes of order",
  "filters by several statuses, free agents, due time and age",
  "starts at the newest snapshot if requested",
  "keeps bytes of any length and value",
  "receives lines for the id of a removed agent",
]);
const tests = recordLogConformance.filter(({ name }) => wholeSoak || essential.has(name));

describe("a log on a DynamoDB server", () => {
  it.each(tests)("$name", (test) => test.run(onDynamoDBServer, () => {}));

  it("runs every essential test", () => {
    expect(tests.map(({ name }) => name)).toEqual(expect.arrayContaining([...essential]));
  });
});
