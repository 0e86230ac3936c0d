import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { cases } from "../../soak/cases.ts";

const attempts = cases(40, 2_500);

let home = "";
let program = "";
beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../workspace/reservations/reserveAgainAndAgain.ts");
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

let directory = "";
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "reservations-"))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("a reservation never gives two processes one file to write, and serves each of them every time", async () => {
  const [one, other] = await Promise.all([reserve("one", attempts, 60_000), reserve("other", attempts, 60_000)]);
  expect([one.at(-1), other.at(-1)]).toEqual([`${attempts}`, `${attempts}`]);
  expect(readdirSync(join(directory, "locks"))).toHaveLength(1);
});

it("a reserved file is passed on if its holder or a waiting process is killed", async () => {
  const survivor = reserve("survivor", cases(40, 100), 60_000);
  for (let kills = 0; kills < cases(2, 5); kills++) {
    const lines = await reserve(`victim ${kills}`, 1_000_000, 200, 5 + kills);
    expect(lines.join()).not.toContain("together");
  }
  expect((await survivor).at(-1)).toBe(`${cases(40, 100)}`);
});

/** @param killAfter kills the process with its so-and-so-many-th line, at which it has the file. */
async function reserve(name: string, count: number, ttlMs: number, killAfter = Infinity): Promise<string[]> {
  const child = spawn(process.execPath, [program, directory, name, `${count}`, `${ttlMs}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  for await (const chunk of child.stdout) {
    text += String(chunk);
    if (text.split("\n").length > killAfter) child.kill("SIGKILL");
  }
  return text.trimEnd().split("\n");
}
