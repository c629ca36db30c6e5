/** A filter of a list: one parameter of the address. */
export interface TextFilter {
  readonly kind: "text";
  /** Name of the parameter. */
  readonly id: string;
  readonly title: string;
  readonly placeholder?: string;
}

export interface ChoiceFilter {
  readonly kind: "choice";
  readonly id: string;
  readonly title: string;
  /** Names the state without a choice; "All" if left out. */
  readonly placeholder?: string;
  readonly choices: readonly { readonly value: string; readonly title: string }[];
}

export type Filter = TextFilter | ChoiceFilter;
