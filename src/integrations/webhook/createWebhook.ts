import { z } from "zod";
import { AIAgent } from "../../agent/AIAgent.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { EventKeyUsedError } from "../../errors/requestErrors.ts";
import { AgentBusyError } from "../../errors/storageErrors.ts";
import { NotSerializableError } from "../../errors/storedDataErrors.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../internal/bytes.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { customSchema, integerFrom, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { parsedJson } from "../../internal/parsedJson.ts";
import { persistence } from "../../persistence/Persistence.ts";

/** Options of {@link createWebhook}. */
export interface WebhookOptions {
  /** The definition of the agents that receive the events. Requires the feature `Persistence`. */
  readonly agent: AIAgent<never, unknown>;
  /** The key that signs tokens, at least 32 characters. Another secret makes all earlier tokens invalid. */
  readonly secret: string;
  /** The maximum size of a body, in bytes. Defaults to 1,048,576. */
  readonly maxBodyBytes?: number | undefined;
}

/** An HTTP endpoint that sends an event to an agent for each request. */
export interface Webhook {
  /**
   * Returns the token for an event of an agent, which is always the same and does not expire. Use the token as the last
   * segment of the URL that you give to the caller. Everybody with the token can send this event to this agent.
   *
   * @throws InvalidInputError, InvalidAgentIdError
   */
  readonly token: (agentId: string, eventName: string) => Promise<string>;
  /**
   * Handles a `POST` request, whose path ends with a token and whose body is JSON. Sends the body as the event's
   * payload, and an empty body as `null`. The event is durable when the response is sent.
   *
   * The header `webhook-id` or `idempotency-key` identifies the event, so that a repeated request sends it once.
   *
   * @returns 202 for a sent event; 400 for a body that is not JSON in UTF-8, is nested too deeply or ends early; 404 for
   * an invalid token; 405 for another method; 409 if the header identifies an event with another body; 413 for a body
   * that is too large; 503 if the inbox is busy.
   * @throws the errors of the storage.
   */
  readonly handler: (request: Request) => Promise<Response>;
}

const optionsSchema = strictOptions(() => ({
  agent: customSchema("an AIAgent", (value) => value instanceof AIAgent),
  secret: z.string().min(32),
  maxBodyBytes: integerFrom(0).optional(),
}));

/**
 * Returns a webhook for servers with `Request` and `Response`, such as Next.js, Hono or Deno. The agent needs
 * `Persistence`.
 *
 * @throws InvalidInputError, FeatureNotInstalledError
 *
 * @example
 * ```ts
 * const webhook = createWebhook({ agent, secret });
 * const url = `https://shop.example/hooks/${await webhook.token("order-8", "paid")}`;
 * export const POST = webhook.handler;
 * ```
 */
export function createWebhook(options: WebhookOptions): Webhook {
  checkSchema(optionsSchema, options, "options of createWebhook()");
  const { agent, secret, maxBodyBytes = 1_048_576 } = options;
  const agents = persistence(agent);
  const key = crypto.subtle.importKey("raw", utf8(secret), algorithm, false, ["sign", "verify"]);
  return {
    async token(agentId, eventName) {
      assertAgentId(agentId);
      checkSchema(nonEmptyString, eventName, "event name of a token");
      return signToken(await key, { agentId, eventName });
    },
    async handler(request) {
      if (request.method !== "POST") return answer(405, { allow: "POST" });
      const target = await verifyToken(await key, new URL(request.url).pathname.split("/").at(-1) ?? "");
      if (!target) return answer(404);
      const body = await readBody(request, maxBodyBytes);
      if (body === "too_large") return answer(413);
      const payload = body?.text === "" ? null : body && parsedJson(body.text);
      if (payload === undefined) return answer(400);
      const id = request.headers.get("webhook-id") || request.headers.get("idempotency-key");
      const { agentId, eventName } = target;
      try {
        await agents.agent(agentId).send(eventName, payload, id ? { key: keyOf(eventName, id) } : {});
        return answer(202);
      } catch (error) {
        return refusal(error);
      }
    },
  };
}

function keyOf(eventName: string, id: string): string {
  return `${eventName.replaceAll("%", "%25").replaceAll("/", "%2F")}/${id}`;
}

function refusal(error: unknown): Response {
  if (error instanceof EventKeyUsedError) return answer(409);
  if (error instanceof AgentBusyError) return answer(503, { "retry-after": "1" });
  if (error instanceof InvalidInputError || error instanceof NotSerializableError) return answer(400);
  throw error;
}

function answer(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status, headers });
}

/**
 * Reads the text of a body, and stops if it has more than `maxBytes`. Returns `undefined` if reading fails, or if the
 * body is not UTF-8.
 *
 * @throws TypeError if another reader has the body
 */
async function readBody(
  { body }: Request,
  maxBytes: number,
): Promise<{ readonly text: string } | "too_large" | undefined> {
  const chunks = body?.values();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let size = 0;
  try {
    for await (const chunk of chunks ?? []) {
      size += chunk.length;
      if (size > maxBytes) return "too_large";
      text += decoder.decode(chunk, { stream: true });
    }
    return { text: text + decoder.decode() };
  } catch {
    return undefined;
  }
}

interface Target {
  readonly agentId: string;
  readonly eventName: string;
}

const algorithm = { name: "HMAC", hash: "SHA-256" } as const;
const contentSchema = z.tuple([z.string(), z.string()]);

/** Signs the agent and the event of a webhook with HMAC-SHA-256, so that the server stores no tokens. */
async function signToken(key: CryptoKey, { agentId, eventName }: Target): Promise<string> {
  const content = utf8(JSON.stringify([agentId, eventName]));
  const signature = await crypto.subtle.sign(algorithm.name, key, content);
  return `${toBase64Url(content)}.${toBase64Url(new Uint8Array(signature))}`;
}

/** Returns the content of a token, or `undefined` if this key did not sign it. Compares in constant time. */
async function verifyToken(key: CryptoKey, token: string): Promise<Target | undefined> {
  const [content, signature, ...rest] = token.split(".").map((part) => fromBase64Url(part));
  if (!content || !signature || rest.length > 0) return undefined;
  if (!(await crypto.subtle.verify(algorithm.name, key, signature, content))) return undefined;
  const [agentId, eventName] = contentSchema.parse(JSON.parse(fromUtf8(content)));
  return { agentId, eventName };
}
