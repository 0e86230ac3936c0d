import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import type { UIMessageChunk } from "ai";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";
import { cases, wholeSoak } from "../../../soak/cases.ts";
import { sharedEngines } from "../../../storage/engines/engines.ts";
import { pieceDesk, type PieceDeskOptions } from "./pieceDesk.ts";

const [kills, turns, tokens] = [cases(3, 20), 3, 150];

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/ai-sdk-agents/kills/pieceWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** Starts a server. Resolves when its model has been asked. */
async function serve(options: PieceDeskOptions) {
  const server = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void server.kill("SIGKILL"));
  let said = "";
  server.stdout.on("data", (text) => (said += String(text)));
  const ended = once(server, "close").then(() => said);
  await once(server.stdout, "data");
  return { ended, kill: () => server.kill("SIGKILL") };
}

/** The texts of a stream, each of which is one response. Every token of a response is there once, and in order. */
function textsIn(chunks: readonly UIMessageChunk[]): readonly string[] {
  const texts: string[] = [];
  for (const chunk of chunks) {
    if (chunk.type === "text-start") texts.push("");
    if (chunk.type === "text-delta") texts.push((texts.pop() ?? "") + chunk.delta);
  }
  for (const [turn, text] of texts.entries()) {
    const words = text.trim().split(" ").filter(Boolean);
    const [writer = ""] = words[0]?.split(":") ?? [];
    expect(words).toEqual(words.map((_word, token) => `${writer}:${turn}:${token}`));
  }
  return texts;
}

const engines = sharedEngines.filter(({ name }) => name === "in files" || (wholeSoak && name !== "in DynamoDB"));

it.each(engines)(
  `shows a client of another process each chunk once and in order, while the server of an AI SDK agent is killed ${kills} times, and then the whole response ($name)`,
  async ({ place: newPlace }) => {
    const place = await newPlace();
    const options = { place, turns, tokens };
    const here = await pieceDesk({ ...options, hangs: false, onRequest: () => expect.unreachable() });
    let recorded: readonly string[] = [];
    for (let killed = 0; killed < kills; killed++) {
      const server = await serve({ ...options, hangs: true });
      const chunks: UIMessageChunk[] = [];
      let left = 1 + ((killed * 37) % 60);
      const stream = await here.for("a").attach();
      for await (const chunk of stream!.toUIMessageStream({ onError: (error) => String(Object(error).code) })) {
        chunks.push(chunk);
        if (chunk.type === "text-delta" && --left === 0) server.kill();
      }
      server.kill();
      await server.ended;
      expect(left).toBeLessThanOrEqual(0);
      expect(chunks.at(-1)).toEqual({ type: "error", errorText: "run_stopped" });
      const texts = textsIn(chunks);
      // The complete responses are those that an earlier server recorded.
      expect(texts.slice(0, recorded.length)).toEqual(recorded);
      recorded = texts.slice(0, -1);
    }
    const server = await serve({ ...options, hangs: false });
    const last: UIMessageChunk[] = [];
    const stream = await here.for("a").attach();
    for await (const chunk of stream!.toUIMessageStream()) last.push(chunk);
    expect(await server.ended).toMatch(/completed$/);
    expect(last.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    const texts = textsIn(last);
    expect(texts.slice(0, recorded.length)).toEqual(recorded);
    expect(texts.map((text) => text.trim().split(" ").length)).toEqual(Array.from({ length: turns }, () => tokens));
    expect((await here.for("a").resume()).text).toBe(texts.at(-1));
    expect(await here.for("a").attach()).toBeUndefined();
  },
);
