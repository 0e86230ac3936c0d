import { recordLogConformance } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { onDynamoDBServer } from "./inDynamoDB.ts";
import { wholeSoak } from "../../soak/cases.ts";

/** What says whether the server takes each kind of request as the one in memory does: a whole soak runs the whole suite. */
const essential: ReadonlySet<string> = new Set([
  "numbers appends from 1 without gaps",
  "stores an append once whose answer was lost, and takes no more from an owner it failed",
  "stores nothing for an owner that was replaced, and tells it so",
  "continues positions and generations when the id is used again",
  "removes the bytes of what is pruned, also those that an earlier prune left",
  "sorts by the bytes of the UTF-8 of order",
  "lists several statuses, what is free, what is due and what is old, where it narrows",
  "begins at the newest snapshot when asked to",
  "keeps bytes of any length and value",
  "takes lines for an id that was used before",
]);
const tests = recordLogConformance.filter(({ name }) => wholeSoak || essential.has(name));

describe("a log on a DynamoDB server", () => {
  it.each(tests)("$name", (test) => test.run(onDynamoDBServer, () => {}));

  it("runs every essential test", () => {
    expect(tests.map(({ name }) => name)).toEqual(expect.arrayContaining([...essential]));
  });
});
