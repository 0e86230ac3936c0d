import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { cases, soak } from "../../soak/cases.ts";

const program = fileURLToPath(new URL("./support/eachHeap.ts", import.meta.url));

/** What branches keep is the same in memory. */
const kinds = !soak ? ["files"] : ["files", "memory"];

/** Ten times as many need the same. */
const items = cases(300, 1_000);

it.each(kinds)(`${10 * items} items need at most twice the heap of ${items} in %s`, async (kind) => {
  const child = fork(program, [kind, `${items}`], { execArgv: ["--expose-gc", "--import", "tsx"] });
  const [[few, many]] = (await once(child, "message")) as [[number, number]];
  expect(many / few).toBeLessThan(2);
});
