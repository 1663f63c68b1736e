//! Union-find with deterministic results: sets are compared, never their representatives' numbers.

pub(crate) struct Union {
    parent: Vec<u32>,
}

impl Union {
    pub(crate) fn new(len: usize) -> Union {
        Union { parent: (0..u32::try_from(len).unwrap_or(u32::MAX)).collect() }
    }

    pub(crate) fn find(&mut self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            let above = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = above;
            node = above;
        }
        node
    }

    pub(crate) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}
