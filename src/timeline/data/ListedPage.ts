export interface ListedPage {
  readonly id: string;
  readonly status: string;
  readonly at: string;
  readonly reason: string;
  readonly url: string;
}
