/** The heading of a screen that lists objects. */
import { Title } from "@mantine/core";
import type { ReactNode } from "react";

export function ScreenTitle({ children }: { readonly children: ReactNode }) {
  return (
    <Title order={1} size="h2" mb="sm">
      {children}
    </Title>
  );
}
