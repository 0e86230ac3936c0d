import type { ProviderPart } from "./ProviderModel.ts";

/** The metadata key of the provider's call id, which later runs read from the messages. */
const key = "agent-persistence";

type Metadata = Readonly<Record<string, unknown>>;

/** Returns a tool call with the library's id and the provider's id in its metadata. */
export function withCallId(
  part: ProviderPart,
  ids: { readonly own: unknown; readonly provided: unknown },
): ProviderPart {
  const { own, provided } = ids;
  if (own === provided) return { ...part, toolCallId: own };
  const metadata = { ...(part["providerMetadata"] as Metadata | undefined), [key]: { toolCallId: provided } };
  return { ...part, toolCallId: own, providerMetadata: metadata };
}

/** Returns the provider's call id of a prompt part, or `undefined` if the part carries no such id. */
export function providedId({ providerOptions }: ProviderPart): string | undefined {
  const { toolCallId } = Object((providerOptions as Metadata | undefined)?.[key]) as { readonly toolCallId?: unknown };
  return typeof toolCallId === "string" ? toolCallId : undefined;
}

/** Returns a prompt part without the provider's id in its options, because the model must not see it. */
export function withoutProvidedId(part: ProviderPart): ProviderPart {
  if (providedId(part) === undefined) return part;
  const { providerOptions, ...rest } = part;
  const { [key]: _id, ...options } = providerOptions as Metadata;
  return Object.keys(options).length > 0 ? { ...rest, providerOptions: options } : (rest as ProviderPart);
}
