import { ModelNotAvailableError } from "../../errors/model/ModelNotAvailableError.ts";
import type { AiSdkLanguageModel } from "./AiSdkLanguageModel.ts";

/** One model, or a function that gives the model of a name. A provider of the AI SDK is such a function. */
export type AiSdkModels = AiSdkLanguageModel | ((name: string) => AiSdkLanguageModel | PromiseLike<AiSdkLanguageModel>);

const versions: readonly string[] = ["v2", "v3", "v4"] satisfies AiSdkLanguageModel["specificationVersion"][];

/** The model of that name. */
export async function modelNamed(models: AiSdkModels, name: string): Promise<AiSdkLanguageModel> {
  const model: Partial<AiSdkLanguageModel> | undefined =
    typeof models === "function" ? await made(models, name) : models;
  if (model === undefined || model === null)
    throw new ModelNotAvailableError(name, "the function gave no model for it");
  if (!versions.includes(model.specificationVersion ?? "")) throw new ModelNotAvailableError(name, unsupported(model));
  if (typeof models !== "function" && models.modelId !== name) throw new ModelNotAvailableError(name, only(models));
  return model as AiSdkLanguageModel;
}

async function made(make: (name: string) => unknown, name: string): Promise<Partial<AiSdkLanguageModel> | undefined> {
  try {
    return (await make(name)) as Partial<AiSdkLanguageModel> | undefined;
  } catch (cause) {
    throw new ModelNotAvailableError(name, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function unsupported({ specificationVersion }: Partial<AiSdkLanguageModel>): string {
  const found = specificationVersion === undefined ? "none" : JSON.stringify(specificationVersion);
  return `its specification version is ${found}, supported are ${versions.join(", ")} (AI SDK 5 to 7)`;
}

function only({ modelId }: AiSdkLanguageModel): string {
  return `this executor has only ${JSON.stringify(modelId)}; ask for that, or give aiSdkExecutor a function (name) => model`;
}
