import { z } from "zod";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";

/** The first message that is not plain text makes the schema, because most programs need few of its parts. */
const messageSchema = z.lazy(() => {
  const providerOptions = z.record(z.string(), z.unknown()).optional();
  const text = z.looseObject({ type: z.literal("text"), text: z.string(), providerOptions });
  const reasoning = z.looseObject({ type: z.literal("reasoning"), text: z.string(), providerOptions });
  const file = z.looseObject({
    type: z.literal("file"),
    data: z.union([z.string(), z.instanceof(Uint8Array)]),
    mediaType: z.string(),
    providerOptions,
  });
  const call = z.looseObject({
    type: z.literal("tool-call"),
    toolCallId: z.string(),
    providerToolCallId: z.string().optional(),
    toolName: z.string(),
    providerOptions,
  });
  const result = z.looseObject({
    type: z.literal("tool-result"),
    toolCallId: z.string(),
    providerToolCallId: z.string().optional(),
    toolName: z.string(),
    isError: z.boolean().optional(),
    providerOptions,
  });
  const custom = z.looseObject({ type: z.literal("custom"), kind: z.string(), providerOptions });
  const parts = z.array(z.discriminatedUnion("type", [text, reasoning, file, call, result, custom]));
  const textOrParts = z.union([z.string(), parts]);
  return z.discriminatedUnion("role", [
    z.looseObject({ role: z.literal("system"), content: z.string() }),
    z.looseObject({ role: z.literal("user"), content: textOrParts }),
    z.looseObject({ role: z.literal("assistant"), content: textOrParts }),
    z.looseObject({ role: z.literal("tool"), content: parts }),
  ]);
});

/**
 * Checks that a value is a message before it is stored, because models return untyped data.
 *
 * @param role The only valid role. Defaults to any role.
 * @throws InvalidInputError
 */
export function assertMessage(message: Message, subject: string, role?: Message["role"]): void {
  const given: { readonly role?: unknown; readonly content?: unknown } = Object(message) as object;
  if (role !== undefined && given.role !== role) {
    const expected = `expected "${role}", found ${JSON.stringify(given.role) ?? "nothing"}`;
    throw new InvalidInputError(subject, [{ path: "role", expected }]);
  }
  // Text messages skip the schema, because parsing costs more than saving them.
  if (typeof given.content === "string" && given.role !== "tool" && isRole(given.role)) return;
  const checked = messageSchema.safeParse(message);
  if (checked.success) return;
  const problems = checked.error.issues.map(({ path, message: expected }) => ({ path: path.join("."), expected }));
  throw new InvalidInputError(subject, problems);
}

function isRole(role: unknown): boolean {
  return role === "system" || role === "user" || role === "assistant";
}
