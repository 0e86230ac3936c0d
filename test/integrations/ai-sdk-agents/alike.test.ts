import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { type Durable, durableAgent } from "agent-persistence/ai-sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { comparable } from "./support/comparable.ts";
import { calling, scriptedModel, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";

/** What a definition gets: `durable`, or what leaves all as it is. */
type Wraps = Pick<Durable, "model" | "tools">;
const bare: Wraps = { model: (model) => model, tools: (tools) => tools };

/** An agent, whatever tools it has. */
interface PlainAgent {
  readonly version: string;
  readonly id: string | undefined;
  readonly tools: unknown;
  generate(call: { readonly prompt: string }): PromiseLike<unknown>;
  stream(call: { readonly prompt: string }): PromiseLike<unknown>;
}

/** Makes an agent, each time with models and tools that have not been called yet. */
type Define = (sdk: Sdk, wraps: Wraps) => PlainAgent;

/** How a model gives a file. */
function fileData({ version }: Sdk, data: string): string {
  return version === 6 ? data : ({ type: "data", data } as never);
}

/** Of the results of a tool the last one alone is recorded. */
function withoutPreliminary(streamed: unknown): unknown {
  const { shown, ...rest } = streamed as {
    readonly shown: readonly { readonly output?: { readonly state?: string } }[];
  };
  return { ...rest, shown: shown.filter(({ output }) => output?.state !== "looking") };
}

const order = z.object({ id: z.string() });

const repairsCalls: Define = (sdk, { model, tools }) =>
  new sdk.ai.ToolLoopAgent({
    model: model(scriptedModel([[calling("find", { id: 7 })], text("Found.")], sdk)),
    tools: tools({ find: sdk.ai.tool({ inputSchema: order, execute: async ({ id }) => ({ found: id }) }) }),
    experimental_repairToolCall: async ({ toolCall }) => ({
      ...toolCall,
      input: JSON.stringify({ id: String((JSON.parse(toolCall.input) as { id: unknown }).id) }),
    }),
  });

class Finder {
  readonly inputSchema = order;
  readonly #place = "Rome";

  get description() {
    return `Finds orders in ${this.#place}.`;
  }
  async execute({ id }: { readonly id: string }) {
    return { id, place: this.#place };
  }
  toModelOutput() {
    return { type: "text" as const, value: `It is in ${this.#place}.` };
  }
}

const hasAToolOfAClass: Define = (sdk, { model, tools }) =>
  new sdk.ai.ToolLoopAgent({
    model: model(scriptedModel([[calling("find", { id: "7" })], text("Found.")], sdk)),
    tools: tools({ find: new Finder() }),
  });

const callsInVain: Define = (sdk, { model, tools }) =>
  new sdk.ai.ToolLoopAgent({
    model: model(
      scriptedModel(
        [
          [calling("find", { id: 7 }, "c1"), calling("fly", {}, "c2")],
          [calling("find", { id: "8" }, "c3"), calling("lose", {}, "c4")],
          text("No."),
        ],
        sdk,
      ),
    ),
    tools: tools({
      find: sdk.ai.tool({
        inputSchema: order,
        execute: async ({ id }): Promise<string> => {
          throw new TypeError(`there is no order ${id}`);
        },
      }),
      lose: sdk.ai.tool({
        inputSchema: z.object({}),
        execute: (): Promise<string> => Promise.reject("lost" as unknown as Error),
      }),
    }),
  });

const usesToolsOfItsProvider: Define = (sdk, { model, tools }) =>
  new sdk.ai.ToolLoopAgent({
    model: model(
      scriptedModel(
        [
          [
            { type: "reasoning", text: "I look it up.", providerMetadata: { test: { signature: "s" } } },
            { ...calling("search", { q: "7" }, "srv_1"), providerExecuted: true, dynamic: true } as never,
            {
              type: "tool-result",
              toolCallId: "srv_1",
              toolName: "search",
              result: { hits: 2 },
              dynamic: true,
            } as never,
            { type: "source", sourceType: "url", id: "s1", url: "https://example.org/7" },
            { type: "text", text: "There are two.", providerMetadata: { test: { cited: [1] } } },
            calling("find", { id: "7" }),
          ],
          [
            { type: "file", mediaType: "image/png", data: fileData(sdk, "iVBORw0KGgo=") },
            { type: "text", text: "Found." },
          ],
        ],
        sdk,
      ),
    ),
    tools: tools({ find: sdk.ai.tool({ inputSchema: order, execute: async ({ id }) => id }) }),
  });

const changesItsModel: Define = (sdk, { model, tools }) => {
  const other = model(scriptedModel([[], text("The other model has found it.")], sdk, "other"));
  return new sdk.ai.ToolLoopAgent({
    model: model(scriptedModel([[calling("find", { id: "7" })], text("never told")], sdk)),
    tools: tools({ find: sdk.ai.tool({ inputSchema: order, execute: async ({ id }) => id }) }),
    prepareStep: ({ stepNumber }) => (stepNumber === 1 ? { model: other } : {}),
  });
};

const answersInAForm: Define = (sdk, { model, tools }) =>
  new sdk.ai.ToolLoopAgent({
    model: model(scriptedModel([[calling("find", { id: "7" })], text('{"cents": 900}')], sdk)),
    tools: tools({ find: sdk.ai.tool({ inputSchema: order, execute: async ({ id }) => id }) }),
    output: sdk.ai.Output.object({ schema: z.object({ cents: z.int() }) }),
  });

const showsResultsAsTheyCome: Define = (sdk, { model, tools }) =>
  new sdk.ai.ToolLoopAgent({
    model: model(scriptedModel([[calling("find", { id: "7" })], text("Found.")], sdk)),
    tools: tools({
      find: sdk.ai.tool({
        inputSchema: order,
        execute: async function* ({ id }) {
          yield { state: "looking", id };
          yield { state: "found", id };
        },
      }),
    }),
  });

const leavesCallsToTheClient: Define = (sdk, { model, tools }) =>
  new sdk.ai.ToolLoopAgent({
    model: model(scriptedModel([[calling("confirm", { id: "7" })]], sdk)),
    tools: tools({ confirm: sdk.ai.tool({ inputSchema: order, outputSchema: z.boolean() }) }),
  });

/** Version 6 does not know it, and asks for no approval. */
const ofVersion7 = { toolApproval: { find: ({ id }: { id: string }) => (id === "7" ? "approved" : "denied") } };

const decidesApprovals: Define = (sdk, { model, tools }) =>
  new sdk.ai.ToolLoopAgent({
    model: model(
      scriptedModel(
        [[calling("find", { id: "7" }, "c1"), calling("find", { id: "8" }, "c2")], text("Only one was allowed.")],
        sdk,
      ),
    ),
    tools: tools({ find: sdk.ai.tool({ inputSchema: order, execute: async ({ id }) => id }) }),
    ...ofVersion7,
  });

const asksAnAgent: Define = (sdk, { model, tools }) => {
  const { tool, ToolLoopAgent } = sdk.ai;
  const look = tool({ inputSchema: order, execute: async ({ id }) => `order ${id} is in Rome` });
  const scout = new ToolLoopAgent({
    model: model(scriptedModel([[calling("look", { id: "7" })], text("It is in Rome.")], sdk, "scout")),
    tools: tools({ look }, { look: { effect: "none" } }),
  });
  const ask = tool({
    inputSchema: z.object({ task: z.string() }),
    execute: async ({ task }, { abortSignal }) =>
      (await scout.generate({ prompt: task, ...(abortSignal && { abortSignal }) })).text,
  });
  return new ToolLoopAgent({
    model: model(scriptedModel([[calling("ask", { task: "Where is 7?" })], text("In Rome.")], sdk)),
    tools: tools({ ask }, { ask: { effect: "none" } }),
  });
};

describe.each(sdks)("a durable agent of the AI SDK $version", (sdk) => {
  it.each<[what: string, define: Define]>([
    ["that repairs calls", repairsCalls],
    ["with a tool of a class", hasAToolOfAClass],
    ["with a failing tool and a call to an unknown tool", callsInVain],
    ["whose provider runs tools and sends sources, reasoning and files", usesToolsOfItsProvider],
    ["that changes its model in prepareStep", changesItsModel],
    ["with structured output", answersInAForm],
    ["whose tools have preliminary results", showsResultsAsTheyCome],
    ["that leaves a call to the client", leavesCallsToTheClient],
    ["that decides approvals itself", decidesApprovals],
    ["that calls another agent in a tool", asksAnAgent],
  ])("%s behaves as without the library, live and in a replay", async (_what, define) => {
    const prompt = "Find order 7.";
    const desk = durableAgent({ storage: new InMemoryPersistenceStorageProvider() }, (durable) => define(sdk, durable));
    const generated = await comparable(await define(sdk, bare).generate({ prompt }));
    expect(await comparable(await desk.for("a").generate({ prompt }))).toEqual(generated);
    expect(await comparable(await desk.for("a").resume())).toEqual(generated);
    const streamed = await comparable(await define(sdk, bare).stream({ prompt }));
    expect(await comparable(await desk.for("b").stream({ prompt }))).toEqual(streamed);
    const replayed = await comparable(await desk.for("b").resumeStream());
    expect(replayed).toEqual(define === showsResultsAsTheyCome ? withoutPreliminary(streamed) : streamed);
  });
});
