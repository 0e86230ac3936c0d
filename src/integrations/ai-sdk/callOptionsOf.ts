import type { PromptRequest } from "../../agent/model/PromptExecutor.ts";
import type { AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";
import { callParametersOf } from "./callParametersOf.ts";
import { fileDataOf, taggedFileDataOf } from "./fileData.ts";
import { functionToolOf } from "./functionToolOf.ts";
import { promptOf } from "./promptOf.ts";

/** A request in the words of the model's specification version. */
export function callOptionsOf(version: AiSdkLanguageModel["specificationVersion"], request: PromptRequest) {
  const { messages, tools, parameters, abortSignal } = request;
  return {
    ...callParametersOf(parameters),
    prompt: version === "v4" ? promptOf(messages, taggedFileDataOf) : promptOf(messages, fileDataOf),
    ...(tools.length > 0 && { tools: tools.map(functionToolOf) }),
    abortSignal,
  };
}
