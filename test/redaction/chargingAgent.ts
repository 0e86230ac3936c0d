import { z } from "zod";
import {
  AIAgent,
  Persistence,
  type PersistenceConfig,
  type PersistenceStorageProvider,
  RollbackToolRegistry,
  storageKey,
  strategy,
  tool,
} from "../../src/index.ts";
import { redaction, type RedactionOptions, secret } from "../../src/encryption.ts";
import { scriptedModel } from "../../src/testing.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";

export const secretIn = (place: string) => `secret-of-${place}-in-the-test`;
/** A secret that only the function of the redaction knows. */
export const textSecretIn = (place: string) => `TEXT-${place}-SECRET`;

/** The places of values at redacted paths. */
export const pathPlaces = "card item receipt scan iban cause note profile email pin total payload".split(" ");
/** The places of texts that the function redacts. */
export const textPlaces = "system user answer approval prompt reason failure".split(" ");
export const secrets = [...pathPlaces.map(secretIn), ...textPlaces.map(textSecretIn)];

export const redactionOptions: RedactionOptions = {
  paths: [
    "charge.input.items.code",
    "charge.output.receipt",
    "charge.output.scan",
    "charge.output.accounts.iban",
    "decline.input",
    "decline.output",
    "storage.profile",
    "input.email",
    "answer.pin",
    "output.total",
    "payload.code",
    "note",
  ],
  text: (text) => text.replaceAll(/TEXT-\w+-SECRET/g, "****"),
  vault: { keys: testKeys("first") },
};

/** The effects of the agent outside. */
export interface World {
  readonly charged: unknown[];
  readonly reversed: unknown[];
  /** The requests to the model. */
  readonly asked: unknown[];
}

export const newWorld = (): World => ({ charged: [], reversed: [], asked: [] });

const profile = storageKey("profile", z.object({ name: z.string() }));

export const input = { email: secretIn("email"), question: `go, ${textSecretIn("user")}` };

interface Order {
  readonly email: string;
  readonly question: string;
}

/** An agent whose calls, responses, requests, values and errors have secrets. */
export function chargingAgent(
  storage: PersistenceStorageProvider,
  world: World = newWorld(),
  config: PersistenceConfig = { redact: redaction(redactionOptions) },
): AIAgent<Order, unknown> {
  const charge = tool({
    name: "charge",
    description: "Charges a card.",
    inputSchema: z.object({
      card: z.object({ number: secret(z.string()), cvv: secret(z.number().optional()) }),
      items: z.array(z.object({ code: z.string(), amount: z.number() })),
    }),
    execute: (given, { context }) => {
      world.charged.push(given);
      context.storage.set(profile, { name: secretIn("profile") });
      context.recordDecision({ decision: "charge", reason: textSecretIn("user") });
      return {
        receipt: secretIn("receipt"),
        scan: secretIn("scan").repeat(600),
        accounts: new Map([["first", { iban: secretIn("iban"), open: new Date(0) }]]),
        amount: 3,
      };
    },
  });
  const decline = tool({
    name: "decline",
    description: "Fails.",
    inputSchema: z.object({ cause: z.string() }),
    effect: "none",
    needsApproval: () => ({ prompt: `Decline, ${textSecretIn("approval")}?` }),
    execute: ({ cause }) => {
      throw new Error(`declined because of ${cause} and ${textSecretIn("failure")}`);
    },
  });
  const registry = new RollbackToolRegistry().registerRollback(charge, (given, call) => {
    world.reversed.push({ given, output: call.output });
  });
  const model = scriptedModel([
    {
      text: "I charge the card.",
      toolCalls: [
        {
          toolName: "charge",
          input: {
            card: { number: secretIn("card"), cvv: 1_234_567 },
            items: [
              { code: secretIn("item"), amount: 1 },
              { code: "x", amount: 2 },
            ],
          },
        },
        { toolName: "decline", input: { cause: secretIn("cause") } },
      ],
    },
    `Charged ${secretIn("card")}, ${textSecretIn("answer")}.`,
  ]);
  return new AIAgent({
    id: "desk",
    promptExecutor: {
      execute: (request) => {
        world.asked.push(JSON.parse(JSON.stringify(request.messages)));
        return model.execute(request);
      },
    },
    llmModel: "scripted",
    systemPrompt: `Be kind, ${textSecretIn("system")}.`,
    tools: [charge, decline],
    strategy: strategy<Order, unknown>("desk", (graph) => {
      const ask = graph.node("ask", async (order: Order, context) => {
        context.llm.append({ role: "user", content: order.question });
        const response = await context.llm.request();
        context.llm.append(response);
        context.llm.append(await context.tools.execute(response));
        return { note: secretIn("note") };
      });
      const confirm = graph.node("confirm", async (_given: { readonly note: string }, context) => {
        const { pin } = await context.requestInput({
          prompt: `The PIN, ${textSecretIn("prompt")}?`,
          schema: z.object({ pin: z.string() }),
        });
        const response = await context.llm.request();
        context.llm.append(response);
        return { total: secretIn("total"), pin, text: response.content };
      });
      graph.edge(graph.start, ask);
      graph.edge(ask, confirm);
      graph.edge(confirm, graph.finish);
    }),
  }).install(Persistence, { rollbackToolRegistry: registry, ...config, storage });
}
