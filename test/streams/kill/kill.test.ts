import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { attachStream } from "agent-persistence/streams";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { cases, wholeSoak } from "../../soak/cases.ts";
import { sharedEngines } from "../../storage/engines/engines.ts";
import { storageAt } from "../../storage/engines/storageAt.ts";
import { ClientView } from "../ClientView.ts";
import type { ServerOptions } from "./streamWorker.ts";
import { streamsAt } from "./streamsAt.ts";

const [kills, reconnects, turns, tokens] = [cases(2, 20), cases(15, 200), 3, 200];

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../streams/kill/streamWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** A process that runs or resumes the run. */
class Server {
  readonly #child;
  readonly ended: Promise<string>;

  constructor(options: ServerOptions) {
    const stdio = ["ignore", "pipe", "inherit"] as const;
    this.#child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: [...stdio] });
    let said = "";
    this.#child.stdout?.on("data", (text) => (said += String(text)));
    this.ended = new Promise((resolve) => this.#child.on("close", () => resolve(said)));
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

const title = `shows a client that reconnects ${reconnects} times each chunk once and in order, while the server is killed ${kills} times`;
const engines = sharedEngines.filter(({ name }) => name === "in files" || (wholeSoak && name !== "in DynamoDB"));

it.each(engines)(`${title} ($name)`, async (engine) => {
  const place = await engine.place();
  const [storage, store] = [await storageAt(place), await streamsAt(place)];
  const view = new ClientView();
  let [killed, connected, isOver] = [0, 0, false];
  let seen = () => {};
  const serve = async () => {
    for (;;) {
      const server = new Server({ place, turns, tokens, hangs: killed < kills });
      const shown = new Promise<void>((resolve) => {
        let left = 1 + ((killed * 37) % 90);
        seen = () => (--left === 0 ? resolve() : undefined);
      });
      const first = await Promise.race([server.ended, shown]);
      if (first === undefined && killed < kills) {
        killed++;
        server.kill();
      }
      const said = await server.ended;
      if (said === "completed") return;
    }
  };
  const served = serve().finally(() => (isOver = true));
  let after: string | undefined;
  while (true) {
    const wasOver = isOver;
    let left = connected < reconnects ? 1 + ((connected * 13) % 8) : Infinity;
    connected++;
    let isComplete = true;
    for await (const chunk of attachStream({ storage, store }, "a", { after, pollMs: 5 })) {
      after = chunk.position;
      view.add(chunk);
      seen();
      if (--left > 0) continue;
      isComplete = false;
      break;
    }
    if (wasOver && isComplete) break;
    if (isComplete) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await served;
  const stored = new ClientView();
  for await (const chunk of attachStream({ storage, store }, "a", { after: ClientView.start })) stored.add(chunk);
  expect(killed).toBe(kills);
  expect(connected).toBeGreaterThan(reconnects);
  expect(view.texts).toEqual(stored.texts);
  expect(view.texts.size).toBe(turns);
  for (const text of view.texts.values()) {
    const words = text.trim().split(" ");
    expect(new Set(words.map((word) => word.split(":")[0])).size).toBe(1);
    expect(words.map((word) => Number(word.split(":")[2]))).toEqual(Array.from({ length: tokens }, (_, at) => at));
  }
  for await (const chunk of attachStream({ storage, store }, "a")) expect.unreachable(JSON.stringify(chunk));
});
