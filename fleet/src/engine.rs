//! DataFusion over the files of a [`Files`].

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::{
    arrow::datatypes::{DataType, Field, Schema, SchemaRef},
    catalog::{Session, TableProvider},
    common::Result as DfResult,
    datasource::{
        listing::PartitionedFile,
        object_store::ObjectStoreUrl,
        physical_plan::{
            FileGroup, FileScanConfigBuilder, ParquetSource,
            parquet::{CachedParquetFileReaderFactory, metadata::DFParquetMetadata},
        },
        source::DataSourceExec,
    },
    execution::SendableRecordBatchStream,
    logical_expr::{Expr, TableProviderFilterPushDown, TableType},
    physical_plan::ExecutionPlan,
    prelude::{SQLOptions, SessionConfig, SessionContext},
};
use fdtide::segment::{self, columns};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use object_store::ObjectMeta;

use crate::{Error, source::Files};

/// Files that are looked at at a time.
const AT_ONCE: usize = 16;
/// Bytes at the end of a file that are read at first: heads and statistics of most segments.
const END_BYTES: usize = 64 << 10;

/// The table `segments`, ready to be asked.
pub struct Engine {
    context: SessionContext,
}

impl Engine {
    /// Over these files. Each is looked at first: one that is no segment, or of a later version, is refused by name.
    ///
    /// # Errors
    ///
    /// When one can't be read, or is refused.
    pub async fn new(files: Files) -> Result<Engine, Error> {
        let context = SessionContext::new_with_config(SessionConfig::new());
        context.register_object_store(&files.place.base, Arc::clone(&files.place.store));
        check(&context, &files).await?;
        let table =
            Segments { schema: schema(), url: ObjectStoreUrl::parse(files.place.base.as_str())?, files: files.files };
        context.register_table("segments", Arc::new(table))?;
        Ok(Engine { context })
    }

    /// What a query gives, batch by batch.
    ///
    /// # Errors
    ///
    /// When it is refused, or fails.
    pub async fn ask(&self, sql: &str) -> Result<SendableRecordBatchStream, Error> {
        // Nothing but questions: no table made or dropped, no file written.
        let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        Ok(self.context.sql_with_options(sql, options).await?.execute_stream().await?)
    }
}

/// The columns of this version: what an older file lacks is null.
fn schema() -> SchemaRef {
    let view = |field: &Arc<Field>| match field.data_type() {
        // Strings that are read without being copied.
        DataType::Utf8 => Field::new(field.name(), DataType::Utf8View, true),
        other => Field::new(field.name(), other.clone(), true),
    };
    Arc::new(Schema::new(columns::schema().fields().iter().map(view).collect::<Vec<_>>()))
}

async fn check(context: &SessionContext, files: &Files) -> Result<(), Error> {
    let cache = context.runtime_env().cache_manager.get_file_metadata_cache();
    let looks = files.files.iter().map(|file| {
        let (cache, name) = (Arc::clone(&cache), files.place.shown(file.location.as_ref()));
        async move {
            let reader = DFParquetMetadata::new(&files.place.store, file)
                .with_metadata_size_hint(Some(END_BYTES))
                .with_file_metadata_cache(Some(cache));
            let read = reader.fetch_metadata().await;
            let known = read.map_err(|error| Error::Read { name: name.clone(), why: error.strip_backtrace() })?;
            let pairs = known.file_metadata().key_value_metadata().map(Vec::as_slice).unwrap_or_default();
            let value = pairs.iter().find(|pair| pair.key == columns::KEY).and_then(|pair| pair.value.as_deref());
            segment::head(&name, value)?;
            Ok(())
        }
    });
    stream::iter(looks).buffer_unordered(AT_ONCE).try_collect::<()>().await
}

/// Files as one table.
#[derive(Debug)]
struct Segments {
    schema: SchemaRef,
    url: ObjectStoreUrl,
    files: Vec<ObjectMeta>,
}

#[async_trait]
impl TableProvider for Segments {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        let store = state.runtime_env().object_store(&self.url)?;
        let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
        let source = ParquetSource::new(Arc::clone(&self.schema))
            .with_metadata_size_hint(END_BYTES)
            .with_parquet_file_reader_factory(Arc::new(CachedParquetFileReaderFactory::new(store, cache)));
        let files: Vec<PartitionedFile> = self.files.iter().cloned().map(PartitionedFile::from).collect();
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let config = FileScanConfigBuilder::new(self.url.clone(), Arc::new(source))
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> DfResult<Vec<TableProviderFilterPushDown>> {
        // Whole groups of rows are left out by their statistics; what is left is filtered above.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}
