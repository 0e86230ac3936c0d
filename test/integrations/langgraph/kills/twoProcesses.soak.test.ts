import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FilePersistenceStorageProvider } from "../../../../src/file.ts";
import { PersistenceSaver } from "../../../../src/langgraph.ts";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/langgraph/kills/sharingWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** A process that is heard a line at a time. */
class Sharing {
  readonly #child;
  readonly #lines: AsyncIterator<string>;

  constructor(directory: string, name: string) {
    this.#child = spawn(process.execPath, [program, directory, name], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async hears(): Promise<unknown> {
    return (await this.#lines.next()).value;
  }

  goOn(): void {
    this.#child.stdin.write("\n");
  }

  async end(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.goOn();
    await ended;
  }
}

describe("two processes on one thread of a graph", () => {
  it("hand it to each other while idle, and the replaced process stores no more", async () => {
    const directory = await temporaryDirectory();
    const one = new Sharing(directory, "one");
    expect(await one.hears()).toBe("in second");
    // It owns the thread, and does nothing with it.
    const other = new Sharing(directory, "other");
    expect(await other.hears()).toBe("in second");
    other.goOn();
    expect(await other.hears()).toBe("first of one,second of other");
    one.goOn();
    expect(await one.hears()).toBe("thread_continued");
    await Promise.all([one.end(), other.end()]);
    const storage = new FilePersistenceStorageProvider({ directory });
    await using checkpointer = new PersistenceSaver({ storage });
    const steps: unknown[] = [];
    for await (const { checkpoint } of checkpointer.list({ configurable: { thread_id: "shared" } }))
      steps.push(checkpoint.channel_values["steps"]);
    expect(steps).toEqual([["first of one", "second of other"], ["first of one"], [], []]);
    await rm(directory, { recursive: true });
  });
});
