import type { HiddenValues } from "../options/Redaction.ts";
import type { Cost, TimelineMessage } from "./TimelineData.ts";

/** The data of a page that compares two runs. All texts are without hidden values. */
export interface ComparisonData {
  readonly comparison: {
    readonly isSame: boolean;
    readonly before: ComparedRun;
    readonly after: ComparedRun;
    /** The index of the first step that differs. */
    readonly first?: number;
    readonly steps: readonly ComparedRow[];
    /** Changed parts of the runs, such as the output, by name. */
    readonly parts: readonly TextChange[];
    readonly hidden: HiddenValues;
  };
}

/** The figures of a run. */
export interface ComparedRun {
  readonly agent: string;
  readonly run: string;
  readonly status: string;
  readonly models: string;
  readonly requests: number;
  readonly calls: number;
  readonly tokens?: number;
  readonly cost?: Cost;
  readonly took?: number;
}

/** A step of one run or of both. */
export interface ComparedRow {
  readonly change: "same" | "changed" | "added" | "removed";
  readonly title: string;
  /** Omitted if only the second run has the step. */
  readonly before?: ComparedSide;
  /** Omitted if only the first run has the step. */
  readonly after?: ComparedSide;
  readonly messages: readonly { readonly change: "added" | "removed"; readonly message: TimelineMessage }[];
  readonly parts: readonly TextChange[];
}

/** A step in one run. */
export interface ComparedSide {
  readonly calls: readonly string[];
  readonly tokens?: number;
  readonly took?: number;
}

/** A text that differs. */
export interface TextChange {
  readonly name: string;
  readonly before?: string;
  readonly after?: string;
}
