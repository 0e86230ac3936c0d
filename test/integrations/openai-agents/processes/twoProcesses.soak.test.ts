import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FilePersistenceStorageProvider } from "../../../../src/file.ts";
import { PersistenceSession } from "../../../../src/openai-agents.ts";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";

const execute = promisify(execFile);

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/openai-agents/processes/sharingWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

describe("two concurrent processes", () => {
  it("lose and mix no items in one session, and run one run of one agent once", async () => {
    const directory = await temporaryDirectory();
    const names = ["one", "other"];
    const printed = await Promise.all(
      names.map((name) =>
        execute(process.execPath, [program, directory, name, ...names.filter((each) => each !== name)]),
      ),
    );
    const result = { finalOutput: "booked 0, booked 1, booked 2", booked: ["0", "1", "2"], items: 8 };
    expect(printed.map(({ stdout }) => JSON.parse(stdout) as unknown)).toEqual([result, result]);
    const storage = new FilePersistenceStorageProvider({ directory: join(directory, "agents") });
    const items = await new PersistenceSession({ storage, sessionId: "shared" }).getItems();
    const texts = items.map((item) => ("content" in item && typeof item.content === "string" ? item.content : ""));
    expect(texts).toHaveLength(20);
    for (const name of names) {
      const own = Array.from({ length: 5 }, (_, pair) => [`${name} ${pair} first`, `${name} ${pair} second`]);
      expect(texts.filter((text) => text.startsWith(name))).toEqual(own.flat());
      for (const [first = ""] of own) expect(texts[texts.indexOf(first) + 1]).toBe(first.replace("first", "second"));
    }
    await rm(directory, { recursive: true });
  });
});
