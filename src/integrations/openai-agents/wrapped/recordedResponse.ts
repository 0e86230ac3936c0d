import { type ModelRequest, type ModelResponse, Usage } from "@openai/agents-core";
import { z } from "zod";
import { assertResponseShape } from "../../../agent/model/checkedResponse.ts";
import type { ContentPart } from "../../../checkpoint/messages/Message.ts";
import type { ModelUsage } from "../../../checkpoint/tokenUsage/ModelUsage.ts";
import { parsedJson } from "../../../internal/parsedJson.ts";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import type { GivenHostedResponse, HostedResponse } from "../../hosted/HostedLoop.ts";

type OutputItem = ModelResponse["output"][number];
type FunctionCall = Extract<OutputItem, { type: "function_call" }>;
type HostedCallItem = Extract<OutputItem, { type: "hosted_tool_call" }>;
type Fields = Readonly<Record<string, unknown>>;

/** The key of provider options for fields that only the SDK understands. */
const ours = "openai-agents";

/** The fields of a response that are not in its message. */
interface Rest {
  /** The items of the output, in order. A number is the index of a message part. */
  readonly output: readonly (number | OutputItem)[];
  readonly usage: Fields;
  readonly rawUsage?: Fields;
  readonly responseId?: string;
  readonly requestId?: string;
}

const call = z.looseObject({
  type: z.literal("function_call"),
  callId: z.string(),
  name: z.string(),
  arguments: z.string(),
});
const message = z.looseObject({ role: z.literal("assistant"), content: z.array(z.looseObject({ type: z.string() })) });
const other = z.looseObject({ type: z.string().refine((type) => type !== "function_call" && type !== "message") });

/** The response fields that this library reads. */
const responseSchema = z.looseObject({
  output: z.array(z.union([call, message, other])),
  usage: z.looseObject({}),
});

/**
 * Converts a response to its recorded form. Texts and function calls become the message. Other items, including
 * handoffs, are stored separately. `providerData` of the response is dropped, which can be large.
 *
 * @throws UnusableModelAnswerError if the model adapter returned an invalid response
 */
export function recordedResponse(
  response: ModelResponse,
  request: ModelRequest,
  model = "without a name",
): HostedResponse {
  assertResponseShape(responseSchema, response, model);
  const content: ContentPart[] = [];
  const isFunction = functionNamesIn(request);
  const output = response.output.map((item) => {
    const part = partOf(item, isFunction);
    return part ? content.push(part) - 1 : item;
  });
  const { usage, rawUsage, responseId, requestId } = response;
  const opaque: Rest = { output, usage: jsonOf(usage), ...withoutUndefined({ rawUsage, responseId, requestId }) };
  return { message: { role: "assistant", content }, opaque, usage: usageOf(usage) };
}

/** Restores a response for the SDK. Its calls have the library's ids. */
export function responseOf({ message, opaque }: GivenHostedResponse): ModelResponse {
  const { output, usage, ...ids } = structuredClone(opaque) as Rest;
  const parts = typeof message.content === "string" ? [] : message.content;
  const items = output.map((item) => (typeof item === "number" ? itemOf(parts[item]) : item));
  return { ...ids, output: items, usage: new Usage(usage) };
}

/** Returns a test for names of function tools. A tool search can load tools that the request does not name. */
function functionNamesIn({ tools, handoffs }: ModelRequest): (name: string) => boolean {
  const functions = new Set(tools.flatMap((tool) => (tool.type === "function" ? [tool.name] : [])));
  const searches = tools.some((tool) => tool.type === "hosted_tool" && tool.providerData?.["type"] === "tool_search");
  const others = new Set(handoffs.map(({ toolName }) => toolName));
  return (name) => functions.has(name) || (searches && !others.has(name));
}

function partOf(item: OutputItem, isFunction: (name: string) => boolean): ContentPart | undefined {
  if (item.type === "function_call") return isFunction(item.name) ? callPart(item) : undefined;
  if (item.type === "hosted_tool_call") return approvalPart(item);
  if (!("role" in item) || item.role !== "assistant") return undefined;
  const { content, ...message } = item;
  const [only, ...others] = content;
  if (only?.type !== "output_text" || others.length > 0) return undefined;
  const { text, ...rest } = only;
  return { type: "text", text, providerOptions: { [ours]: { message, rest } } };
}

function callPart({ callId, name, arguments: text, ...call }: FunctionCall): ContentPart {
  const input = parsedInput(text);
  // If JSON of the parsed input differs from the text, for example in its spaces, the text is kept.
  const exact = JSON.stringify(input) === text ? {} : { arguments: text };
  const kept = { [ours]: { ...call, ...exact } };
  return { type: "tool-call", toolCallId: callId, toolName: name, input, providerOptions: kept };
}

/** Converts an MCP call that waits for approval. Keeps the id of the call, because the provider executes the call. */
function approvalPart(item: HostedCallItem): ContentPart | undefined {
  const { providerData = {} } = item;
  const { id, name, arguments: text } = providerData;
  if (providerData["type"] !== "mcp_approval_request" && item.name !== "mcp_approval_request") return undefined;
  if (typeof id !== "string" || typeof name !== "string") return undefined;
  const providerOptions = { [ours]: { hosted: item } };
  return { type: "tool-call", toolCallId: id, toolName: name, input: parsedInput(text), providerOptions };
}

/** Returns whether a recorded part is a call that the provider executes after its approval. */
export function isHostedCall({ providerOptions }: ContentPart & { readonly type: "tool-call" }): boolean {
  return "hosted" in Object(providerOptions?.[ours]);
}

function itemOf(part: ContentPart | undefined): OutputItem {
  const kept = structuredClone(part && "providerOptions" in part ? part.providerOptions?.[ours] : undefined) as Fields;
  if (part?.type === "tool-call") {
    if ("hosted" in kept) return kept["hosted"] as OutputItem;
    const { toolCallId: callId, toolName: name, input } = part;
    return { arguments: JSON.stringify(input), ...kept, callId, name } as OutputItem;
  }
  if (part?.type !== "text") throw new TypeError("a recorded response has a part that this version does not support");
  const { message, rest } = kept as { readonly message: Fields; readonly rest: Fields };
  return { ...message, content: [{ ...rest, text: part.text }] } as unknown as OutputItem;
}

/** Converts usage to plain JSON, because its entries for single requests are class instances. */
function jsonOf(usage: Usage): Fields {
  return JSON.parse(JSON.stringify(usage)) as Fields;
}

function usageOf({ inputTokens, outputTokens, totalTokens }: Usage): ModelUsage {
  return { inputTokens, outputTokens, totalTokens };
}

/** Parses the input of a call. Text that is not JSON stays text. */
export function parsedInput(text: unknown): unknown {
  if (typeof text !== "string") return text ?? null;
  const parsed = parsedJson(text);
  return parsed === undefined ? text : parsed;
}
