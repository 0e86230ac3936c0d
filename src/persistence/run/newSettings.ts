import type { ResumeOptions, RunOptions } from "../../agent/feature/RunRequest.ts";
import type { RunSettings } from "../../agent/state/RunState.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";

export function newSettings(options: RunOptions | ResumeOptions): Partial<RunSettings> | undefined {
  const { llmModel: model, modelParameters: parameters } = options as ResumeOptions;
  return model === undefined && parameters === undefined ? undefined : withoutUndefined({ model, parameters });
}
