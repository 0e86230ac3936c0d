import type { ProviderPart } from "./ProviderModel.ts";

/** Where a call carries the id that its provider gave it, through the messages of this run and of later ones. */
const key = "agent-persistence";

type Metadata = Readonly<Record<string, unknown>>;

/** A call of a model as the AI SDK gets it: under the library's id, with that of the provider in its metadata. */
export function withCallId(
  part: ProviderPart,
  ids: { readonly own: unknown; readonly provided: unknown },
): ProviderPart {
  const { own, provided } = ids;
  if (own === provided) return { ...part, toolCallId: own };
  const metadata = { ...(part["providerMetadata"] as Metadata | undefined), [key]: { toolCallId: provided } };
  return { ...part, toolCallId: own, providerMetadata: metadata };
}

/** The provider's id of the call that a part of a prompt is about; `undefined`: the part does not say it. */
export function providedId({ providerOptions }: ProviderPart): string | undefined {
  const { toolCallId } = Object((providerOptions as Metadata | undefined)?.[key]) as { readonly toolCallId?: unknown };
  return typeof toolCallId === "string" ? toolCallId : undefined;
}

/** A part of a prompt without it: it is not for the model. */
export function withoutProvidedId(part: ProviderPart): ProviderPart {
  if (providedId(part) === undefined) return part;
  const { providerOptions, ...rest } = part;
  const { [key]: _id, ...options } = providerOptions as Metadata;
  return Object.keys(options).length > 0 ? { ...rest, providerOptions: options } : (rest as ProviderPart);
}
