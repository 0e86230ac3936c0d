import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Agent, type Model, type ModelRequest, type ModelResponse, type StreamEvent, tool } from "@openai/agents-core";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { DurableRunner, PersistenceSession } from "agent-persistence/openai-agents";
import { z } from "zod";
import { calls, FakeModel, type Reply, resultsIn, says } from "../fakeModel.ts";
import { FileSession } from "../FileSession.ts";
import { OpenAIServer, type Protocol } from "../models/OpenAIServer.ts";

/**
 * One process of a durable run: two calls at once, one after them, a handoff, one more, then two agents at once that are tools
 * and have a tool each; the second of them is streamed. The model of the first agent fails twice. The process kills itself at
 * the first of the given places where none was killed yet; the last one prints what came of it.
 */
const [directory = "", how = "", kind = "", models = "", ...places] = process.argv.slice(2);
const file = (name: string) => join(directory, name);

/** Whether this is the first process that comes to a place. */
function isFirstAt(place: string): boolean {
  const marker = file(place.replaceAll(/\W/g, "_"));
  if (existsSync(marker)) return false;
  writeFileSync(marker, "");
  return true;
}

function dieAt(place: string): void {
  if (places.includes(place) && isFirstAt(place)) process.kill(process.pid, "SIGKILL");
}

const linesOf = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), "utf8").trim().split("\n") : []);

const servers: OpenAIServer[] = [];

/** A fake model, or one of the SDK that asks a server. */
async function modelOf(reply: Reply): Promise<Model> {
  if (models === "fake") return new FakeModel(reply);
  const server = await OpenAIServer.start(reply);
  servers.push(server);
  return server.model(models as Protocol);
}

/** A model that may end its process while it is asked, or within its stream. */
class KillingModel implements Model {
  readonly #who: string;
  readonly #model: Promise<Model>;

  constructor(who: string, reply: Reply) {
    this.#who = who;
    this.#model = modelOf((items, request) => {
      const question = `${who} ${resultsIn(items).length}`;
      dieAt(`asking ${question}`);
      const reason = `failing ${question}`;
      if (places.includes(reason) && isFirstAt(reason)) return new Error("overloaded");
      const answer = reply(items, request);
      appendFileSync(file("asked"), `${question}\n`);
      return answer;
    });
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    return (await this.#model).getResponse(request);
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const items = typeof request.input === "string" ? [] : request.input;
    for await (const event of (await this.#model).getStreamedResponse(request)) {
      yield event;
      dieAt(`in stream of ${this.#who} ${resultsIn(items).length}`);
    }
  }
}

/** When the last answer of the first of the two agents that are tools is stored: the second one begins then. */
async function isHelped(): Promise<void> {
  const isStored = () => textsIn(file("agents")).some((text) => text.includes("helper booked one"));
  while (!isStored()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function textsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((entry) =>
    entry.isFile() ? readFileSync(join(entry.parentPath, entry.name), "utf8") : [],
  );
}

const book = tool({
  name: "book",
  description: "Books.",
  parameters: z.object({ room: z.string() }),
  execute: ({ room }, _context, details) => {
    dieAt(`before ${room}`);
    appendFileSync(file("booked"), `${room} ${details?.toolCall?.callId}\n`);
    dieAt(`after ${room}`);
    return `booked ${room}`;
  },
});

/** Books one room and says how many it has booked. */
const booker = (name: string, room: string) =>
  new Agent({
    name,
    model: new KillingModel(name, (items) => {
      return resultsIn(items).length === 0 ? [calls("book", { room })] : [says(`${name} booked one`)];
    }),
    tools: [book],
  });
const streamed: string[] = [];
const helper = booker("helper", "e").asTool({ toolName: "ask_helper", toolDescription: "Helps." });
const other = booker("other", "f").asTool({
  toolName: "ask_other",
  toolDescription: "Helps.",
  inputBuilder: async () => {
    await isHelped();
    return "Help.";
  },
  onStream: ({ event }) => {
    if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta")
      streamed.push(event.data.delta);
  },
});

const second = new Agent({
  name: "second",
  model: new KillingModel("second", (items) => {
    const { length } = resultsIn(items);
    if (length === 4) return [calls("book", { room: "d" })];
    if (length > 5) return [says(resultsIn(items).join(", "))];
    return [calls("ask_helper", { input: "Help." }, "call_1"), calls("ask_other", { input: "Help." }, "call_2")];
  }),
  tools: [book, helper, other],
});

const first = new Agent({
  name: "first",
  model: new KillingModel("first", (items) => {
    const { length } = resultsIn(items);
    // Providers repeat ids within one run.
    if (length === 0) return [calls("book", { room: "a" }, "call_0"), calls("book", { room: "b" }, "call_1")];
    return length === 2 ? [calls("book", { room: "c" }, "call_0")] : [calls("transfer_to_second", {}, "call_0")];
  }),
  // Once: the SDK asks again by itself.
  modelSettings: { retry: { maxRetries: 1, backoff: { initialDelayMs: 0, jitter: false }, policy: () => true } },
  tools: [book],
  handoffs: [second],
});
/** Between an answer and its effects, of which nothing is recorded yet. */
for (const agent of [first, second])
  agent.on("agent_tool_start", (_context, { name }, { toolCall }) =>
    dieAt(`answered ${name} ${"arguments" in toolCall ? toolCall.arguments : ""}`),
  );

const storage = new FilePersistenceStorageProvider({ directory: file("agents") });
const runner = new DurableRunner({
  storage,
  tools: {
    book: {
      probe: (_input, { toolCallId }) =>
        linesOf("booked").some((line) => line.endsWith(toolCallId))
          ? { status: "done", output: "booked before" }
          : "not-done",
    },
  },
  config: { tracingDisabled: true },
});
await using own = new PersistenceSession({ storage, sessionId: "talk" });
const session = kind === "own" ? own : new FileSession(file("talk"), dieAt);
const options = { agentId: "desk", session };
const run = async () => {
  if (how === "whole") return runner.run(first, "Book all.", options);
  const stream = await runner.run(first, "Book all.", { ...options, stream: true });
  await stream.completed;
  return stream;
};
// A request that the SDK did not repeat rejects the run, which goes on in the same process.
const { finalOutput } = await run().catch((error: Error) => {
  if (!error.message.includes("overloaded")) throw error;
  return run();
});
const items = await session.getItems();
const kinds = items.map((item) => item.type ?? "message");
writeSync(
  1,
  JSON.stringify({
    finalOutput,
    booked: linesOf("booked"),
    asked: linesOf("asked"),
    kinds,
    streamed: streamed.join(""),
  }),
);
for (const server of servers) await server[Symbol.asyncDispose]();
