import { ModelRequestError } from "../../errors/model/ModelRequestError.ts";
import type { AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";

/** What the AI SDK's errors say of a failed call, those of its gateway included. */
interface CallFailure {
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly responseHeaders?: Readonly<Record<string, string | undefined>>;
}

/** Whatever a model's call failed with, as an error whose code a caller can rely on. */
export function requestErrorOf(model: AiSdkLanguageModel, cause: unknown): ModelRequestError {
  const failure: CallFailure = typeof cause === "object" && cause !== null ? cause : {};
  const retryAfterMs = retryAfterMsOf(failure.responseHeaders ?? {});
  return new ModelRequestError({
    model: model.modelId,
    provider: model.provider,
    retryable: failure.isRetryable === true,
    ...(typeof failure.statusCode === "number" && { statusCode: failure.statusCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    cause,
  });
}

function retryAfterMsOf(headers: Readonly<Record<string, string | undefined>>): number | undefined {
  const ms = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (ms >= 0) return ms;
  const after = headers["retry-after"] ?? "";
  if (/^\d+(\.\d+)?$/.test(after)) return Number(after) * 1000;
  // The provider's own clock: ours may differ.
  const wait = Date.parse(after) - Date.parse(headers["date"] ?? "");
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
