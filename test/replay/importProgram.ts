import {
  AIAgent,
  Persistence,
  strategy,
  textOf,
  tool,
  type AgentContext,
  type AnyTool,
  type AssistantMessage,
  type PersistenceStorageProvider,
  type ToolEffect,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

/** The parts of the program that a row of the table changes. */
export interface ProgramParts {
  readonly systemPrompt: string;
  readonly question: string;
  readonly model: string | undefined;
  readonly parameters: Readonly<Record<string, unknown>> | undefined;
  readonly planName: string;
  readonly checkName: string;
  readonly addName: string;
  readonly addEffect: ToolEffect;
  readonly addDescription: string;
  readonly hasLookup: boolean;
  readonly lookupItem: string;
  readonly order: readonly string[];
  readonly asksAgain: boolean;
  readonly note: string | undefined;
  readonly prompt: string | undefined;
  readonly branches: readonly string[];
  readonly factsCall: string;
  readonly branchOutput: string;
  readonly skipsCheck: boolean;
  readonly output: (text: string) => string;
  readonly fails: boolean;
  readonly pause: boolean;
  readonly stored: string;
  readonly rewrites: boolean;
}

export const program: ProgramParts = {
  systemPrompt: "You import people.",
  question: "Who is new?",
  model: undefined,
  parameters: undefined,
  planName: "plan",
  checkName: "check",
  addName: "add",
  addEffect: "irreversible",
  addDescription: "Adds a person.",
  hasLookup: true,
  lookupItem: "Ada",
  order: ["first", "second"],
  asksAgain: false,
  note: undefined,
  prompt: "Is this right?",
  branches: ["facts", "tone"],
  factsCall: "facts",
  branchOutput: "fine",
  skipsCheck: false,
  output: (text) => text,
  fails: false,
  pause: true,
  stored: "a",
  rewrites: false,
};

/** Every call that a tool has executed. */
export const executed: string[] = [];

const itemSchema = z.object({ item: z.string() });

function adder(name: string, effect: ToolEffect, description: string) {
  return tool({
    name,
    description,
    inputSchema: itemSchema,
    effect,
    execute: ({ item }) => {
      executed.push(`${name} ${item}`);
      return { made: item };
    },
  });
}

/** An agent whose model asks for two calls, whose nodes call tools, ask a person, sleep and run branches. */
export function importAgent(
  storage: PersistenceStorageProvider,
  changes: Partial<ProgramParts> = {},
): AIAgent<string, string> {
  const parts = { ...program, ...changes };
  const add = adder(parts.addName, parts.addEffect, parts.addDescription);
  const lookup = adder("lookup", "none", "Finds a person.");
  const tools: readonly AnyTool[] = parts.hasLookup ? [add, lookup] : [add];
  const graph = strategy<string, string>("import", (g) => {
    const plan = g.node(parts.planName, async (input: string, context: AgentContext) => {
      context.llm.append({ role: "user", content: `${parts.question} ${input}` });
      if (parts.note !== undefined) context.llm.append({ role: "user", content: parts.note });
      if (parts.parameters || parts.model !== undefined)
        context.llm.configure({
          ...(parts.model !== undefined && { model: parts.model }),
          ...(parts.parameters && { parameters: parts.parameters }),
        });
      const answer = await context.llm.request();
      context.llm.append(answer);
      if (parts.asksAgain) await context.llm.request();
      return answer;
    });
    const act = g.node("act", async (answer: AssistantMessage, context: AgentContext) => {
      context.llm.append(await context.tools.execute(answer));
      if (parts.rewrites) context.llm.rewrite((messages) => messages.slice(-1));
      return textOf(answer);
    });
    const check = g.node(parts.checkName, async (text: string, context: AgentContext) => {
      for (const item of parts.order) await context.tools.call(add, { item });
      if (parts.hasLookup) await context.tools.call(lookup, { item: parts.lookupItem });
      if (parts.pause) await context.sleep(1);
      if (parts.fails) throw new RangeError("broken");
      if (parts.prompt === undefined) return text;
      return context.requestInput({ prompt: parts.prompt, schema: z.string() });
    });
    const bodies: Readonly<Record<string, (text: string, context: AgentContext) => Promise<string>>> = {
      async facts(_text, context) {
        await context.tools.call(add, { item: parts.factsCall });
        return parts.branchOutput;
      },
      tone: async () => "friendly",
      extra: async () => "more",
    };
    const branch = (name: string) => g.node(name, bodies[name] ?? (async () => "none"));
    const both = g.parallel("both", Object.fromEntries(parts.branches.map((name) => [name, branch(name)])), (outputs) =>
      Object.values(outputs).join(" "),
    );
    const last = g.node("last", async (text: string, context: AgentContext) => {
      context.llm.append({ role: "user", content: parts.stored });
      return parts.output(text);
    });
    g.edge(g.start, plan);
    g.edge(plan, act);
    g.edge(act, parts.skipsCheck ? both : check);
    if (!parts.skipsCheck) g.edge(check, both);
    g.edge(both, last);
    g.edge(last, g.finish);
  });
  return new AIAgent({
    id: "import",
    llmModel: "scripted",
    promptExecutor: scriptedModel([
      { text: "Two are new.", toolCalls: ["m1", "m2"].map((item) => ({ toolName: "add", input: { item } })) },
      "again",
    ]),
    systemPrompt: parts.systemPrompt,
    strategy: graph,
    tools,
  }).install(Persistence, { storage });
}
