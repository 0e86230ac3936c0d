import { expect, it } from "vitest";
import { RequestDigest } from "../../src/agent/model/RequestDigest.ts";
import { platformSha256 } from "../../src/internal/sha256/platformSha256.ts";
import type { RecordedResponse, RecordedToolCall } from "../../src/replay/recording/Recording.ts";
import { ResultPool } from "../../src/replay/results/ResultPool.ts";

const place = { nodeId: "act", branch: undefined, agentPath: [] };
const own = { nodeId: "act", visit: [1, 0] as const };
const none = { answers: [], calls: [], requests: [] };

it("reads each recorded input once, however many calls there are", () => {
  let reads = 0;
  const calls = Array.from({ length: 200 }, (_, order): RecordedToolCall => {
    const call = {
      ...own,
      toolCallId: `c${order}`,
      toolName: "add",
      effect: "none",
      order,
      outcome: { output: order },
    };
    const read = () => (reads++, { item: order });
    return Object.defineProperty(call, "input", { get: read }) as RecordedToolCall;
  });
  const pool = new ResultPool({ ...none, calls });
  const found = calls.map((_call, at) => pool.call(place, "add", { item: at })?.outcome?.output);
  expect(found).toEqual(calls.map(({ order }) => order));
  expect(reads).toBe(200);
  expect(pool.call(place, "add", { item: 1 })).toBeUndefined();
});

it("compares a request with one response if they have the same order", () => {
  const answers = Array.from({ length: 200 }, (_, order): RecordedResponse => {
    const message = { role: "assistant", content: `${order}` } as const;
    return { ...own, ordinal: 0, asked: `d${order}`, message, failed: [], order };
  });
  const pool = new ResultPool({ ...none, answers });
  let compared = 0;
  const found = answers.map(({ asked: digest = "" }) =>
    pool.response(place, { digest, matches: (recorded) => (compared++, recorded === digest) }),
  );
  expect(found).toEqual(answers);
  expect(compared).toBe(200);
});

it("hashes a request once for all comparisons", async () => {
  const platform = await platformSha256();
  let hashes = 0;
  const sha256 = { base64url: (text: string) => (hashes++, platform.base64url(text)) };
  const asked = new RequestDigest(sha256 as never).of({ model: "m", tools: [] }, undefined);
  expect(asked.matches("other")).toBe(false);
  const first = hashes;
  expect(asked.matches("another")).toBe(false);
  expect(hashes).toBe(first);
});
