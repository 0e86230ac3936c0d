import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { enginesOfProcesses } from "../../storage/engines/enginesOfProcesses.ts";

const execute = promisify(execFile);

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../journal/shape/turnWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

describe("two processes that keep one log open", () => {
  it.each(enginesOfProcesses)("write in turns, because an idle process releases it, $name", async ({ place }) => {
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const { signal } = controller;
    const shared = JSON.stringify(await place());
    const processes = ["first", "second"].map((which) =>
      execute(process.execPath, [program, shared, which], { signal }),
    );
    const printed = (await Promise.all(processes)).map(({ stdout }) => JSON.parse(stdout) as unknown);
    const names = ["0", "1", "2", "3", "4", "5"];
    expect(printed).toEqual([names, names]);
  });
});
