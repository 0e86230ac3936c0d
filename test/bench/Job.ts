/** What one process is asked to measure. */
export type Job =
  | { readonly kind: "save"; readonly contestant: string; readonly steps: number }
  | { readonly kind: "load"; readonly steps: number; readonly messages: number };
