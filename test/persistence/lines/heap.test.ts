import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { soak } from "../../soak/cases.ts";

const program = fileURLToPath(new URL("./support/eachHeap.ts", import.meta.url));

/** What branches keep is the same in memory. */
const kinds = !soak ? ["files"] : ["files", "memory"];

it.each(kinds)("10,000 items need at most twice the heap of 1,000 in %s", async (kind) => {
  const child = fork(program, [kind], { execArgv: ["--expose-gc", "--import", "tsx"] });
  const [[few, many]] = (await once(child, "message")) as [[number, number]];
  expect(many / few).toBeLessThan(2);
});
